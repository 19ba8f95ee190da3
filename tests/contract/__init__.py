"""The contract suite: every operation on every backend, byte for byte."""
