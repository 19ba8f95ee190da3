"""The tests of scenarios.output."""
