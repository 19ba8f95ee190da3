"""The tests of scenarios.study."""
