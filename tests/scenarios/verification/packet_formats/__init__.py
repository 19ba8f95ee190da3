"""Packet formats of one's own."""
