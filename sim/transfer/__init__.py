"""One DMA transfer: its descriptor, its cost, its bytes, and the memory that it touches. No clock."""
