"""Packet formats of one's own: read from a table of fields, shown, compared, flipped, and run where they are mapped."""
