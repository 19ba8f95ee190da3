"""The runtime: ownership, states, queues, coherency, recovery."""
