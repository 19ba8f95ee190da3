"""Families of lanes: as many lanes of a kind as there are spans at a time, each used again when it is free."""

import attrs

from tessbed.scenarios.timeline.spans import Sink


@attrs.define(eq=False)
class Family:
    """Lanes of one kind: the first, which is made at once, has the path itself, those after it are numbered."""

    sink: Sink
    path: tuple[str, ...]
    about: str = ""
    overflow: str = "{} ({})"
    _lanes: list[int] = attrs.field(factory=list, init=False)
    _free_at: list[int] = attrs.field(factory=list, init=False)

    def __attrs_post_init__(self) -> None:
        self._add(self.path[-1])

    def take(self, begin: int, end: int) -> int:
        """A lane in which nothing goes on at `begin`, taken until `end`."""
        for number, free_at in enumerate(self._free_at):
            if free_at <= begin:
                self._free_at[number] = end
                return self._lanes[number]
        self._add(self.overflow.format(self.path[-1], len(self._lanes) + 1))
        self._free_at[-1] = end
        return self._lanes[-1]

    def _add(self, name: str) -> None:
        self._lanes.append(self.sink.lane((*self.path[:-1], name), self.about))
        self._free_at.append(0)
