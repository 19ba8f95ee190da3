"""A user's code on a worker: its source lines, its misuse, its exceptions, and an end to its endless loops."""
