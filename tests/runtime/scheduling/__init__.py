"""The tests of runtime.scheduling."""
