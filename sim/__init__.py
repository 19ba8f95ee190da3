"""The hardware: what it can do, and when. Memory, DMA, slots, workers, completion, time."""
