"""Whether the product is right: every bit of a packet, every legal order, soaks, failure cases."""
