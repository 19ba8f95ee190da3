"""The packet format as documents, generated from its tables."""
