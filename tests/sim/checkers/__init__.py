"""The tests of sim.checkers."""
