"""Tests of user code on a worker."""
