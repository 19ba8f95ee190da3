"""What an output must hold, computed independently: it imports nothing of the product."""
