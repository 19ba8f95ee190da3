"""The tests of scenarios.verification.soak."""
