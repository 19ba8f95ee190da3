"""The scenarios that ship with the package, one TOML file each."""
