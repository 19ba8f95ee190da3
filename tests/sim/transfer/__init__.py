"""The tests of sim.transfer."""
