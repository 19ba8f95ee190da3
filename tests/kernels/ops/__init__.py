"""What an operation is before any backend: its requests and its parameters."""
