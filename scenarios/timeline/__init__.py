"""Timelines: what a device did, tick by tick, as spans in lanes; and the files that show them."""
