"""From a checked job to its final state: queues, the scheduler, the link, watchdog and recovery."""
