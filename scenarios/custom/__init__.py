"""Kernels of one's own in scenarios: which is meant, what its buffers hold, how it runs, what its reference says."""
