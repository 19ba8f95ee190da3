"""The commands of `tessbed calibrate`, one module each."""
