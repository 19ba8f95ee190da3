"""Spelling: the known name that was most likely meant, or none.

A suggestion that makes no sense is worse than none. A name is near when few edits lead to it (a letter
that is missing, doubled, wrong or swapped with its neighbour; one in three at most), when it begins alike and shares
most letters in order, or when it is written in part: its beginning, or one of its words.
"""

import difflib
from collections.abc import Iterable, Sequence

LONGEST = 100
"""No name is longer; whatever is, is no slip."""
PART = 4
"""So many letters make a part of a name."""


def nearest_name(name: str, known: Iterable[str]) -> str | None:
    """The known name that `name` is most likely meant to be; of equals the first one."""
    if not name or len(name) > LONGEST:
        return None
    written, names = name.casefold(), list(known)
    most = max(len(written) // 3, min(1, len(written) // 2))
    distances = [(_edits(written, entry.casefold(), most), entry) for entry in names]
    near = [pair for pair in distances if pair[0] is not None]
    if near:
        return min(near, key=lambda pair: pair[0] or 0)[1]
    folded = {entry.casefold(): entry for entry in names if entry[:1].casefold() == written[0]}
    alike = difflib.get_close_matches(written, folded, n=1)
    parts = [entry for entry in names if _is_part(written, entry.casefold())]
    return folded[alike[0]] if alike else parts[0] if parts else None


def _is_part(name: str, entry: str) -> bool:
    """True where one begins with the other, or holds it as a word."""
    if min(len(name), len(entry)) < PART:
        return False
    words = entry.replace("-", "_").split("_")
    return entry.startswith(name) or name.startswith(entry) or name in words


def _edits(one: str, other: str, most: int) -> int | None:
    """How many edits lead from one to the other (optimal string alignment); None for more than `most`."""
    if abs(len(one) - len(other)) > most:
        return None
    above: Sequence[int] = ()
    row: Sequence[int] = range(len(other) + 1)
    for i, left in enumerate(one, 1):
        before, above, row = above, row, [i]
        for j, right in enumerate(other, 1):
            cost = min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (left != right))
            if i > 1 and j > 1 and left == other[j - 2] and one[i - 2] == right:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return None
    return row[-1] if row[-1] <= most else None
