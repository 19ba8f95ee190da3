"""Prediction: what a device with any parameters would measure, timed by the exact engine, a launch planned once."""
