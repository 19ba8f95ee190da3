"""Queueing: what a load is, and the exact recurrence that takes frames through queues and servers, on integers."""
