"""Failure cases: mistakes that were made in the field, made again on purpose, with what a user is told about each."""
