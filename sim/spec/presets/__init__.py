"""The presets: one TOML file each, with the values that differ from the defaults of DeviceSpec."""
