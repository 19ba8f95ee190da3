"""User code: what a launch knows of a kernel that its user wrote."""

import attrs

from tessbed.sim.source_line import SourceLine


@attrs.define(eq=False)
class WaitWatch:
    """What is known of the waits of a kernel, by their lines. Those in `skipped` are not done.

    `exercised` counts waits for something that the worker had not waited for before, `idle` all others.
    """

    skipped: frozenset[SourceLine] = frozenset()
    exercised: dict[SourceLine, int] = attrs.field(factory=dict, init=False)
    idle: dict[SourceLine, int] = attrs.field(factory=dict, init=False)
    names: dict[SourceLine, str] = attrs.field(factory=dict, init=False)

    def skips(self, line: SourceLine, name: str, pending: bool) -> bool:
        """Note a wait of that name, and whether it had anything to wait for; True where it is not to be done."""
        counts = self.exercised if pending else self.idle
        counts[line] = counts.get(line, 0) + 1
        self.names[line] = name
        return line in self.skipped


@attrs.frozen
class UserCode:
    """The kernel's `name`, and what ends a loop of it.

    The workers of a job may take `most_steps` together (gathers, computations, drains, waits), and each may spend
    `loop_seconds` of the host's time between two of them. Both end loops that have no other end; neither changes a
    kernel that ends. `waits` watches the waits that the user wrote.
    """

    name: str = "kernel"
    most_steps: int = 1_000_000
    loop_seconds: float = 10.0
    waits: WaitWatch | None = attrs.field(default=None, eq=False)
