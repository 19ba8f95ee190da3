"""The tests of sim.device."""
