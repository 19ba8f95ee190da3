"""The device on the event queue: jobs, launches, workers, completion records and interrupts."""
