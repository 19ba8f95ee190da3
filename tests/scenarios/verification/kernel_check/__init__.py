"""The tests of scenarios.verification.kernel_check."""
