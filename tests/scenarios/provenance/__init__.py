"""What ticks rest on: measured presets, and the range in which they hold."""
