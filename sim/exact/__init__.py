"""The exact engine: the ticks of a launch without events and without bytes, in Python and in C."""
