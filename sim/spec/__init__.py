"""Every parameter of the device: fields, limits, presets."""
