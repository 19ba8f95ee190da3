"""The tests of scenarios.verification.explore."""
