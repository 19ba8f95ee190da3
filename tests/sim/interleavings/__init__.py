"""The tests of sim.interleavings."""
