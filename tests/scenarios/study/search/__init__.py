"""The tests of scenarios.study.search."""
