"""What an output must hold, worked out apart: it imports nothing of the product."""
