"""Mutants: bugs planted in the product on purpose, each of which named tests must catch."""
