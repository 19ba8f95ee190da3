"""The scenario file: its keys, its reader, its errors, and the way to an admitted scenario."""
