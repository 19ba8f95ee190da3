"""Tests of loads as studies."""
