"""Checks of a job: no race in memory, no hazard in scratch, consistent statistics."""
