"""The A65 executor against the literal oracle, on every engine of this machine."""
