"""Printable: text from files and arguments, made safe for a terminal. The one function that all output to people uses.

A name may hold an escape sequence that repaints the screen, an override that turns the line around, or bytes that are
no text at all. None of them reaches a terminal: what can not be printed is written as an escape, and stays readable.
"""

import re
from typing import Any

_RAW_BYTE = range(0xDC80, 0xDD00)
_SURROGATE = re.compile("[\ud800-\udfff]")


def escaped(text: str, keep: str = "") -> str:
    """The text with control characters, bidi overrides and bytes that are not UTF-8 as `\\x1b`, `\\u202e`, `\\xff`.

    Characters in `keep` stay as they are.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in keep else _escape(c) for c in text)


def _escape(char: str) -> str:
    """The escape of a character; Python keeps a byte of a file name that is not UTF-8 as a surrogate."""
    code = ord(char)
    return f"\\x{code - 0xDC00:02x}" if code in _RAW_BYTE else char.encode("unicode_escape").decode()


def encodable(value: Any) -> Any:
    """A JSON document whose text is valid Unicode: what is no character is escaped as on a terminal."""
    if isinstance(value, str):
        return _SURROGATE.sub(lambda found: _escape(found[0]), value)
    if isinstance(value, dict):
        return {encodable(key): encodable(item) for key, item in value.items()}
    return [encodable(item) for item in value] if isinstance(value, list | tuple) else value
