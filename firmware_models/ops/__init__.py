"""The operations of the firmware: how each cuts its output into work items and bands."""
