"""The tests of scenarios.oracle."""
