"""The tests, by room; helpers are imported as `tests.<module>`."""
