"""The scenarios room: reading, running and reporting scenarios."""
