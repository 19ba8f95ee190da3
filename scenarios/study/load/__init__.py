"""Loads: a scenario as a load: its jobs timed by the exact engine, the report, runs with real bytes beside it."""
