"""The exact engine in scenarios: jobs at the addresses that they get, and a device with ticks and without bytes."""
