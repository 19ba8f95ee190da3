"""Launches as loop nests: the bands of a worker as nested loops around a few of them."""
