"""A long random life of a runtime with faults, that must end with every account balanced."""
