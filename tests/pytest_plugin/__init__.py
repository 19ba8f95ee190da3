"""The pytest plugin: as users run it, and what it writes into their files."""
