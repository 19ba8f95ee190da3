"""Lanes and arguments that several makers of timelines share."""

from tessbed.scenarios.timeline.spans import argument_fields

MARKS = ("findings", "faults, hazards and races")
TEXT = argument_fields("text:text")
