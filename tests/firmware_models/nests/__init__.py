"""Tests of launches as loop nests."""
