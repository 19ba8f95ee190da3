"""Static limits: how near a kernel comes to what descriptors, wait groups and scratch can hold, over all cases."""

from collections import Counter
from collections.abc import Iterable

import attrs

from tessbed.sim.checkers.granule_races import Write
from tessbed.sim.checkers.hazards import JobCheck
from tessbed.sim.checkers.scratch_hazards import span
from tessbed.sim.spec.device_spec import DeviceSpec


@attrs.define
class StaticLimits:
    """The largest value of a descriptor's field, the end of the scratch that is touched, the longest wait group."""

    spec: DeviceSpec
    field: int = 0
    scratch_bytes: int = 0
    group: int = 0

    def see(self, check: JobCheck) -> None:
        """Take the transfers of one job into account."""
        self._see(check.writes)
        self._see(check.gathers)
        groups = Counter(gather.issued for gather in check.gathers)
        self.group = max(self.group, *groups.values(), 0)

    def rows(self) -> list[tuple[str, str]]:
        """Each limit, and the most that was met."""
        spec = self.spec
        return [
            ("descriptor fields", f"at most {self.field:,} of {spec.dma.field_limit:,}"),
            ("wait groups", f"at most {self.group:,} of {spec.dma.wait_group:,} gathers"),
            ("scratch", f"at most {self.scratch_bytes:,} of {spec.usable_scratch_bytes:,} bytes"),
        ]

    def _see(self, transfers: Iterable[Write]) -> None:
        for transfer in transfers:
            for d in transfer.chain:
                pitches = (d.pitch, d.scratch_pitch) if d.rows > 1 else ()
                self.field = max(self.field, d.rows, d.row_bytes, *pitches)
                self.scratch_bytes = max(self.scratch_bytes, span(d)[1])
