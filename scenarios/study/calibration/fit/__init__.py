"""Fit: the parameters that explain a table best, how well the data determine each, and what they leave open."""
