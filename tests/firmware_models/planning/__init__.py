"""Tests of planned launches."""
