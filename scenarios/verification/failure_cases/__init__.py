"""Failure cases: errors made in the field, reproduced on purpose, with the diagnosis that a user gets."""
