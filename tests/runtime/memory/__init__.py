"""The tests of runtime.memory."""
