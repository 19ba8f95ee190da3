"""Band numbers: the different bands of a launch, numbered as its runs bring them.

A part whose drain waits is another band than one whose drain does not, and parts that differ by what they count alone
are one. A band is known by its key (parts.py), and made when it is looked at.
"""

from typing import Any

import attrs
import numpy as np

from tessbed.firmware_models.planning.parts import PartTable, number_of

Array = Any


@attrs.define(eq=False)
class BandNumbers:
    """The keys of the bands so far, by number. What brings them is twice the number of a part, and one more where its
    drain waits; `_known` are the numbers of bands by that, and -1 of what did not come yet."""

    table: PartTable
    keys: list[int] = attrs.field(factory=list, init=False)
    _numbers: dict[int, int] = attrs.field(factory=dict, init=False)
    _known: Array = attrs.field(factory=lambda: np.zeros(0, np.int32), init=False)

    def of(self, sequence: Array) -> Array:
        """The bands of a sequence of parts; new ones are numbered in the order in which they come."""
        parts = len(self.table.listed)
        if len(self._known) < 2 * parts:
            self._known = np.concatenate((self._known, np.full(4 * parts - len(self._known), -1, np.int32)))
        found = self._known[sequence]
        if found.min() < 0:
            self._add(sequence[found < 0])
            found = self._known[sequence]
        return found

    def _add(self, sequence: Array) -> None:
        different, firsts = np.unique(sequence, return_index=True)
        new = different[np.argsort(firsts)]
        codes = [self.table.listed[part] for part in (new >> 1).tolist()]
        keys = (self.table.keys(np.asarray(codes, np.int64)) + (new & 1)).tolist()
        self._known[new] = [number_of(key, self._numbers, self.keys) for key in keys]
