"""The firmware's claims, each with a test that fails without it."""
