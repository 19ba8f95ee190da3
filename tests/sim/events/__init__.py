"""The tests of sim.events."""
