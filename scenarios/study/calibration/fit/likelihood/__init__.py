"""Likelihood: what a least sum of squares says: scatter, intervals, parameters that are not told apart, verdicts."""
