"""The A65's cost model: its steps against the emulated core, its table against the code, its ticks by hand."""
