"""The event queue that the event engine runs on, and what it says when nothing can happen any more."""
