"""The tests of scenarios.verification."""
