"""Families of lanes: as many lanes of a kind as there are spans at a time, each used again when it is free."""

import attrs

from tessbed.scenarios.timeline.spans import Sink


@attrs.define(eq=False)
class Family:
    """Lanes of one kind: the first has the path itself, those after it are numbered. Spans come by their begins."""

    sink: Sink
    path: tuple[str, ...]
    about: str = ""
    overflow: str = "{} ({})"
    _lanes: list[int] = attrs.field(factory=list, init=False)
    _free_at: list[int] = attrs.field(factory=list, init=False)

    def take(self, begin: int, end: int) -> int:
        """A lane in which nothing goes on at `begin`, taken until `end`."""
        for number, free_at in enumerate(self._free_at):
            if free_at <= begin:
                self._free_at[number] = end
                return self._lanes[number]
        *groups, name = self.path
        own = self.overflow.format(name, len(self._lanes) + 1) if self._lanes else name
        self._lanes.append(self.sink.lane((*groups, own), self.about))
        self._free_at.append(end)
        return self._lanes[-1]
