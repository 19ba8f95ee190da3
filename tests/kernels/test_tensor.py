"""Tensors as a caller describes them: sequences copied once, strides and spans by hand."""

from collections.abc import Iterator
from itertools import count

import numpy as np
import pytest

from tessbed.kernels.dtypes import DType
from tessbed.kernels.errors import ContractError
from tessbed.kernels.tensor import MOST_ENTRIES, TensorSpec, dense_strides, span_bytes


def test_a_shape_is_copied() -> None:
    """What becomes of the caller's list does not matter."""
    shape = [2, 3]
    spec = TensorSpec(shape, DType.INT8)  # pyright: ignore[reportArgumentType]
    shape.append(4)
    assert spec.shape == (2, 3)


@pytest.mark.parametrize("values", [3, None, {2, 3}, frozenset({2}), {2: 3}, np.int64(3), np.array(3)])
def test_no_sequence(values: object) -> None:
    """Neither a number nor what has an order that nobody chose."""
    with pytest.raises(ContractError) as caught:
        TensorSpec(values, DType.INT8)  # pyright: ignore[reportArgumentType]
    assert (caught.value.code, caught.value.where) == ("not_a_sequence", "shape")


def test_endless_iterator() -> None:
    """Of an iterator without an end, some more entries than any rank are taken, and no more."""
    numbers: Iterator[int] = count()
    assert len(TensorSpec(numbers, DType.INT8).shape) == MOST_ENTRIES  # pyright: ignore[reportArgumentType]
    assert next(numbers) == MOST_ENTRIES


@pytest.mark.parametrize(
    ("shape", "width", "strides"),
    [((2, 3, 4), 2, (24, 8, 2)), ((5,), 4, (4,)), ((2, 0, 4), 1, (4, 4, 1))],
)
def test_dense_strides(shape: tuple[int, ...], width: int, strides: tuple[int, ...]) -> None:
    """Row-major bytes; an extent of 0 counts as 1."""
    assert dense_strides(shape, width) == strides


@pytest.mark.parametrize(
    ("shape", "strides", "width", "span"),
    [((2, 3), (16, 2), 2, 22), ((1, 3), (999, 2), 2, 6), ((0, 3), (16, 2), 2, 0), ((2, 2), (0, 1), 1, 2)],
)
def test_span(shape: tuple[int, ...], strides: tuple[int, ...], width: int, span: int) -> None:
    """From the first to behind the last scalar: gaps count, the stride of a single index does not."""
    assert span_bytes(shape, strides, width) == span
