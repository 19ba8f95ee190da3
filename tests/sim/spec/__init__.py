"""The tests of sim.spec."""
