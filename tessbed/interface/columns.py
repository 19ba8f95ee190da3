"""Columns: rows of plain values as one array for each of their keys."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np


def arrays_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, np.ndarray]:
    """One array for each key, in order: int64, float64 (a missing number is NaN), bool, or object for anything else."""
    keys = dict.fromkeys(key for row in rows for key in row)
    return {key: _column([row.get(key) for row in rows]) for key in keys}


def _column(values: list[Any]) -> np.ndarray:
    there = [value for value in values if value is not None]
    if there and all(isinstance(value, bool) for value in values):
        return np.array(values, bool)
    if there and all(isinstance(value, int) and not isinstance(value, bool) for value in values):
        return np.array(values, np.int64)
    if there and all(isinstance(value, int | float) and not isinstance(value, bool) for value in there):
        return np.array([np.nan if value is None else value for value in values], np.float64)
    column = np.empty(len(values), object)
    column[:] = values
    return column
