"""The operations of the firmware: how each divides its output into work items and bands."""
