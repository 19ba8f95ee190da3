"""Calibration: what a board measured becomes device parameters with intervals, and a verdict on each of them."""
