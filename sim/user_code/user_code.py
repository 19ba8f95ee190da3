"""User code: what a launch knows of a kernel that its user wrote."""

import attrs


@attrs.frozen
class UserCode:
    """The kernel's `name`, and what ends a loop of it.

    A worker may do `most_actions` (gathers, computations, drains, waits), and may spend `loop_seconds` of the host's
    time between two of them. Both end loops that have no other end; neither changes a kernel that ends.
    """

    name: str = "kernel"
    most_actions: int = 1_000_000
    loop_seconds: float = 10.0
