"""Timelines, decoded by other people's readers."""
