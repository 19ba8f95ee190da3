"""Searches: the best configuration of a space that is too large to sweep, without timing any configuration twice."""
