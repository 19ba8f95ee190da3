"""The tests of sim.exact."""
