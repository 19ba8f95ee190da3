"""The A65 CPU executor: synchronous, straight into the caller's storage."""
