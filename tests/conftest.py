"""What holds for every test: hypothesis draws the same examples on every run and does not watch the clock, and the
programs that tests start can be interrupted.
"""

import signal

from hypothesis import settings

settings.register_profile("tessbed", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("tessbed")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in the background of a shell; children would inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)
