"""The A65's own rows, in NEON instructions: compiled for it, and executed by an emulator of its instruction set."""
