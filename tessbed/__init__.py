"""Tessbed: simulates the tile re-layout kernels of an edge-AI chip, exact bytes and exact model ticks."""

__version__ = "0.1.0"
