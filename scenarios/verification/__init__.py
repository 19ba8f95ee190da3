"""Whether the product is correct: every bit of a packet, every legal order, soaks, failure cases."""
