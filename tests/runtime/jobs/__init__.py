"""The tests of runtime.jobs."""
