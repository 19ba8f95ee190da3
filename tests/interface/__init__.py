"""The Python interface: one device over many calls, scenarios, and the errors of wrong arguments."""
