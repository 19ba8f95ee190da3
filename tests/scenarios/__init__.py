"""The scenarios: reading, running and reporting scenarios."""
