"""What to run, and with what result: the TOML catalogue, the runner, the report."""
