"""Devices of one's own: preset files, and presets of other packages."""
