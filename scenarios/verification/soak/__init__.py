"""Soak: many random jobs on a runtime with faults; at the end nothing may be lost, leaked or wrong."""
