"""What the device program does with a packet; it sees packet bytes, never a Plan."""
