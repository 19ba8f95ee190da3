"""Errors of a user's code on a worker; none of them passes through the user's own frames, but for EndlessLoop."""


class KernelMisuse(Exception):
    """A worker was asked for what it can not do; the text says what was got and what was wanted."""


class EndlessLoop(BaseException):
    """Raised inside a loop that does not come back; no `except Exception` keeps it."""
