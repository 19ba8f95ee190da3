"""The tests of scenarios.format."""
