"""The tests of sim.dma."""
