"""Provenance: what the ticks of a scenario rest on, and the words in which every report says it."""
