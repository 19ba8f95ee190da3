"""The keys of a load in a scenario file, and the way from them to a Load."""
