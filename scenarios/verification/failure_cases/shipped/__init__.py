"""The failure cases that ship: a TOML file each, and beside it what it prints."""
