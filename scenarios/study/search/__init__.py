"""Searches: the best configuration of a space that is too large to sweep, each configuration timed once."""
