"""Benchmark of the A65 executor against plain copies and against plain numpy."""
