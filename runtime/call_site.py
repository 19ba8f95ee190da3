"""Call site: where in the caller's code something happened, the first frame outside this package."""

import os
import sys

_PACKAGE = os.path.dirname(os.path.abspath(__file__))
_OWN: dict[str, bool] = {}


def caller() -> str:
    """ "file.py:line in function" of the nearest frame that is not the runtime's own."""
    frame = sys._getframe(1)
    while frame.f_back is not None and _inside(frame.f_code.co_filename):
        frame = frame.f_back
    code = frame.f_code
    return f"{os.path.basename(code.co_filename)}:{frame.f_lineno} in {code.co_name}"


def _inside(filename: str) -> bool:
    """Whether the code of `filename` belongs to the runtime; attrs generates code with file names of its own."""
    known = _OWN.get(filename)
    if known is None:
        generated = filename.startswith("<attrs")
        known = _OWN[filename] = generated or os.path.realpath(filename).startswith(os.path.realpath(_PACKAGE) + os.sep)
    return known
