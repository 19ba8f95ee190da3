"""Devices by name: presets that ship, preset files of one's own, and presets that other packages bring."""
