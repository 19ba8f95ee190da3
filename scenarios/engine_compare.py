"""Engine comparison: which engine times the EV74 jobs of a run, and where two of them differ.

simpy   the reference: every event, every byte
exact   the same ticks and statistics by recurrence; no byte moves, so there is nothing to verify
verify  both, on every job; the first difference fails the run
"""

from collections.abc import Iterator

import attrs

from tessbed.sim.stats import JobStats, TransferRecord

COMPARED_TICKS = ("arrival", "grant", "start", "end", "done")


def engine_difference(events: JobStats, exact: JobStats) -> str | None:
    """Where the engines part, in words: the first tick at which a transfer differs, else the first statistic."""
    disagreement = min(_disagreement(events.trace, exact.trace), default=None)
    if disagreement is not None:
        return f"the engines differ at tick {disagreement[0]}: {disagreement[1]}"
    for field in attrs.fields(JobStats):
        one, other = getattr(events, field.name), getattr(exact, field.name)
        if field.name != "trace" and one != other:
            return f"the engines agree on every transfer and differ on {field.name}: simpy {one}, exact {other}"
    return None


def _disagreement(events: tuple[TransferRecord, ...], exact: tuple[TransferRecord, ...]) -> Iterator[tuple[int, str]]:
    """(first tick that differs, words) of every transfer that the engines see differently."""
    one, other = ({(record.worker, record.seq): record for record in trace} for trace in (events, exact))
    for key in sorted({*one, *other}):
        left, right = one.get(key), other.get(key)
        if left != right:
            yield (
                _first_tick(left, right),
                f"transfer {key[1]} of worker {key[0]}: simpy {_words(left)}, exact {_words(right)}",
            )


def _first_tick(left: TransferRecord | None, right: TransferRecord | None) -> int:
    if left is None or right is None:
        there = left or right
        assert there is not None
        return there.arrival
    pairs = [(getattr(left, name), getattr(right, name)) for name in COMPARED_TICKS]
    return min((min(pair) for pair in pairs if pair[0] != pair[1]), default=left.grant)


def _words(record: TransferRecord | None) -> str:
    if record is None:
        return "has none"
    return ", ".join(
        f"{name} {getattr(record, name)}" for name in ("pool", "channel", *COMPARED_TICKS, "payload_bytes")
    )
