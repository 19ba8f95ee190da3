"""What to run, and what came of it: the TOML catalogue, the runner, the report."""
