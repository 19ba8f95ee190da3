"""The tests of scenarios.verification.failure_cases."""
