"""The runtime room: ownership, states, queues, coherency, recovery."""
