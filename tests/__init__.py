"""The tests, by package; helpers are imported as `tests.<module>`."""
