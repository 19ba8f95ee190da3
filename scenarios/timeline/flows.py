"""Flows: the numbers by which spans lead to each other."""

import attrs


@attrs.define(eq=False)
class Flows:
    """Gives each flow a number of its own, from 1."""

    _given: int = attrs.field(default=0, init=False)
    _jobs: dict[int, int] = attrs.field(factory=dict, init=False)

    def new(self) -> int:
        """A number that no flow has had."""
        self._given += 1
        return self._given

    def from_record(self, cookie: int) -> int:
        """A flow from a job's completion record to its last state."""
        self._jobs[cookie] = self.new()
        return self._jobs[cookie]

    def to_last_state(self, cookie: int) -> tuple[int, ...]:
        """The flow that leads there; none where there was no record."""
        return (self._jobs[cookie],) if cookie in self._jobs else ()
