"""The errors of the device model: each type says who is at fault.

The constructor arguments are the exception's `args`, because SimPy rebuilds an exception from them when a
process lets it escape.
"""

from collections.abc import Sequence


class HazardError(Exception):
    """The hardware model was misused, or broke its own rules: a bug of ours, never caught."""


class MemoryFault(Exception):
    """An access that the memory refuses; `code` is one of the memory rows of `completion_record.STATUS`."""

    def __init__(self, code: str, address: int, nbytes: int) -> None:
        super().__init__(code, address, nbytes)
        self.code = code
        self.address = address
        self.nbytes = nbytes

    def __str__(self) -> str:
        return f"{self.code}: {self.nbytes} bytes at {self.address:#x}"


class DeviceFault(Exception):
    """The device's own trouble: it ends the job with the status of `code` (a name in `completion_record.STATUS`).

    `detail` and `field` go into the completion record as they are; `text` is for people.
    """

    def __init__(self, code: str, detail: int = 0, field: int = 0, text: str = "") -> None:
        super().__init__(code, detail, field, text)
        self.code = code
        self.detail = detail
        self.field = field
        self.text = text

    def __str__(self) -> str:
        return f"{self.code} (detail {self.detail:#x}){': ' if self.text else ''}{self.text}"


class SpecError(ValueError):
    """Device parameters that cannot be; `problems` holds (path of keys, message) for every error at once.

    >>> import tessbed
    >>> try:
    ...     tessbed.Ev74(workers=0, dma={"outstanding": 0})
    ... except tessbed.SpecError as error:
    ...     print([path for path, text in error.problems])
    [('workers',), ('dma', 'outstanding')]
    """

    def __init__(self, problems: Sequence[tuple[tuple[str, ...], str]]) -> None:
        super().__init__(problems)
        self.problems = tuple(problems)

    def __str__(self) -> str:
        return "\n".join(f"{'.'.join(path) or 'device'}: {message}" for path, message in self.problems)


class HangError(Exception):
    """Nothing can happen any more, yet a job waits; `waiting` lists who waits for what, since when, `causes` why."""

    def __init__(self, waiting: Sequence[object], causes: Sequence[str] = ()) -> None:
        super().__init__(waiting, causes)
        self.waiting = tuple(waiting)
        self.causes = tuple(causes)

    def __str__(self) -> str:
        return "\n  ".join(["the device hangs", *self.causes, *map(str, self.waiting)])


class EngineError(Exception):
    """An engine that was asked for and is not there."""
