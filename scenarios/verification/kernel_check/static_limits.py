"""Static limits: how near a kernel comes to what a descriptor, a wait group and the scratch can hold, over all cases."""

from collections.abc import Iterable

import attrs

from tessbed.sim.checkers.granule_races import Write
from tessbed.sim.checkers.hazards import JobCheck
from tessbed.sim.checkers.scratch_hazards import span
from tessbed.sim.spec.device_spec import DeviceSpec


@attrs.define
class StaticLimits:
    """The largest value of a descriptor's field, the last byte of scratch that a transfer touches, the longest chain."""

    spec: DeviceSpec
    field: int = 0
    scratch_bytes: int = 0
    descriptors: int = 0

    def see(self, check: JobCheck) -> None:
        """Take the transfers of one job into account."""
        self._see(check.writes)
        self._see(check.gathers)

    def words(self) -> str:
        """Each beside its limit."""
        spec = self.spec
        return (
            f"descriptor fields up to {self.field:,} of {spec.dma.field_limit:,}, "
            f"scratch {self.scratch_bytes:,} of {spec.usable_scratch_bytes:,} bytes, "
            f"drains of up to {self.descriptors:,} descriptors"
        )

    def _see(self, transfers: Iterable[Write]) -> None:
        for transfer in transfers:
            self.descriptors = max(self.descriptors, len(transfer.chain))
            for d in transfer.chain:
                pitches = (d.pitch, d.scratch_pitch) if d.rows > 1 else ()
                self.field = max(self.field, d.rows, d.row_bytes, *pitches)
                self.scratch_bytes = max(self.scratch_bytes, span(d)[1])
