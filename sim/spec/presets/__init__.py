"""The presets: one TOML file each, holding what differs from the defaults of DeviceSpec."""
