"""The event queue of the event engine, and the diagnosis of a deadlock when no event is left."""
