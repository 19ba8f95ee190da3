"""The tests of runtime.graph."""
