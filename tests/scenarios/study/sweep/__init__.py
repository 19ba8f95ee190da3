"""The tests of scenarios.study.sweep."""
