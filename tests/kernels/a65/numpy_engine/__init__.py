"""The numpy rows' steps: each of their ways against the oracle, and what they keep."""
