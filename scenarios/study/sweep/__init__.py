"""Sweeps: thousands of configurations, timed in parallel, kept in SQLite, resumed where they stopped."""
