"""Tests of the keys of a load."""
