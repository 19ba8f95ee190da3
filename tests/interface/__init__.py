"""The Python interface: one device over many calls, scenarios, and what wrong arguments are told."""
