"""Measurements by pytest-benchmark; no part of the suite."""
