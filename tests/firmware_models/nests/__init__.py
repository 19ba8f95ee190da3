"""Tests of firmware_models/nests."""
