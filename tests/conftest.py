"""What holds for every test: hypothesis draws the same examples on every run and does not watch the clock, and the
programs that tests start can be interrupted. The fixture `chromium` is a browser.
"""

import signal
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import settings

from tests.chromium import browsers

settings.register_profile("tessbed", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("tessbed")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in the background of a shell; children would inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """A browser for the tests of a module; no longer, as an event loop runs in this thread while it is there."""
    yield from browsers()
