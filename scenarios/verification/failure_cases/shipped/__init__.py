"""The failure cases that ship: a TOML file each, with its expected output beside it."""
