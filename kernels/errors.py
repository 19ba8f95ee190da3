"""The caller's errors, by the stage that finds them: admission, encoding, binding."""

LONGEST_BITS = 256
LONGEST_TEXT = 80


def shown(value: object) -> str:
    """A value as messages show it, on part of a line. Python refuses to print integers of some thousand digits."""
    if isinstance(value, int) and value.bit_length() > LONGEST_BITS:
        return f"{'-' * (value < 0)}2**{value.bit_length() - 1} or more"
    try:
        text = " ".join(repr(value).split())
    except Exception:  # such an integer inside of something, or an object that can not be shown
        text = type(value).__name__
    return text if len(text) <= LONGEST_TEXT else f"{text[: LONGEST_TEXT - 3]}..."


class ContractError(ValueError):
    """A request that the documents do not admit; raised before any Plan exists.

    `code` is stable, `where` names the port and field, the text says got, wanted and what to do.

    >>> import numpy as np, tessbed
    >>> try:
    ...     tessbed.tess(np.zeros((4, 4, 3), np.uint8), tile=(2, 2, 3))
    ... except tessbed.ContractError as error:
    ...     print(error.code, error.where)
    dtype_unsupported x.dtype
    """

    def __init__(self, code: str, where: str, text: str) -> None:
        super().__init__(f"{where}: {text} [{code}]")
        self.code = code
        self.where = where
        self.text = text


class NotRepresentable(ValueError):
    """An admitted plan that a packet field can not hold; never narrowed."""

    def __init__(self, field: str, value: int, limit: int) -> None:
        super().__init__(
            f"packet field {field}: got {value}, the limit is {limit}; use the A65 backend or split the tensor"
        )
        self.field = field
        self.value = value
        self.limit = limit


class BindingError(ValueError):
    """Storage that does not fit a plan; raised before the first byte is written. As `ContractError` otherwise.

    >>> import numpy as np, tessbed
    >>> try:
    ...     tessbed.detess(np.zeros(47, np.uint8), shape=(4, 4, 3), dtype="int8", tile=(4, 4, 3))
    ... except tessbed.BindingError as error:
    ...     print(error)
    tiled: got 47 bytes, wanted at least 48 [capacity]
    """

    def __init__(self, code: str, where: str, text: str) -> None:
        super().__init__(f"{where}: {text} [{code}]")
        self.code = code
        self.where = where
        self.text = text
