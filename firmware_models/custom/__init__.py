"""The firmware's side of kernels of one's own: their ports and regions, ownership, bands, bodies, and their entry."""
