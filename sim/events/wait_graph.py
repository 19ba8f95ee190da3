"""Wait-for graph: from who waits for whom to the reason of a hang.

Everybody who waits names what he waits for. Following the names ends in one of three ways: back where it began, a
cycle; at something that nobody is going to do any more, a lost signal; or at a thing that others hold, who wait
themselves: starvation, which is reported beside its own reason.
"""

from collections.abc import Iterator, Mapping, Sequence

import attrs


@attrs.frozen
class Waiting:
    """`who` has waited for `what` since the tick `since`. `on`: the names of whom that depends on.

    `held` says that those in `on` hold what `who` wants, rather than being what he wants.
    """

    who: str
    what: str
    since: int
    on: tuple[str, ...] = ()
    held: bool = False

    def __str__(self) -> str:
        return f"{self.who} waits for {self.what} since tick {self.since}"


def diagnose(waiting: Sequence[Waiting]) -> tuple[str, ...]:
    """Every reason, once, in the order in which it is met; none where nobody waits."""
    by_name = {entry.who: entry for entry in waiting}
    found = [*_cycles(waiting, by_name), *_lost(waiting, by_name), *_starved(waiting, by_name)]
    return tuple(dict.fromkeys(found))


def _cycles(waiting: Sequence[Waiting], by_name: Mapping[str, Waiting]) -> Iterator[str]:
    for entry in waiting:
        path = _way_back(entry.who, by_name)
        if path and min(path) == entry.who:  # reported once, by its first name
            yield f"cycle: {' waits for '.join([*path, entry.who])}, since tick {max(by_name[n].since for n in path)}"


def _way_back(start: str, by_name: Mapping[str, Waiting]) -> list[str]:
    """The shortest way from somebody back to himself, as names; empty where there is none."""
    ways = [[start]]
    seen: dict[str, None] = {}
    for way in ways:
        for name in by_name[way[-1]].on:
            if name == start:
                return way
            if name in by_name and name not in seen:
                seen[name] = None
                ways.append([*way, name])
    return []


def _lost(waiting: Sequence[Waiting], by_name: Mapping[str, Waiting]) -> Iterator[str]:
    for entry in waiting:
        if not any(name in by_name for name in entry.on):
            yield f"lost signal: {entry.who} waits forever for {entry.what}, since tick {entry.since}"


def _starved(waiting: Sequence[Waiting], by_name: Mapping[str, Waiting]) -> Iterator[str]:
    for entry in waiting:
        if entry.held:
            holders = ", ".join(name for name in entry.on if name in by_name)
            yield f"starvation: {entry.who} waits for {entry.what}, held by {holders}, since tick {entry.since}"
