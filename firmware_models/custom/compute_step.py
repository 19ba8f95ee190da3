"""Compute step: a user's function on the views of a band, as one step of a packer."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import attrs
import numpy as np

from tessbed.firmware_models.custom.region import Placed
from tessbed.firmware_models.vector_ops import Move, Span


@attrs.frozen(eq=False)
class ComputeStep:
    """`function(*inputs, *outputs)` on views of the scratch. Inputs are read-only; what it returns is ignored."""

    function: Callable[..., Any]
    inputs: Sequence[Placed]
    outputs: Sequence[Placed]

    def on(self, scratch: np.ndarray) -> Move:
        """The call of the function on views of that scratch."""
        return partial(self._call, scratch)

    def _call(self, scratch: np.ndarray) -> None:
        views = [placed.view(scratch) for placed in self.inputs]
        for view in views:
            view.setflags(write=False)
        self.function(*views, *[placed.view(scratch) for placed in self.outputs])

    def spans(self) -> tuple[list[Span], list[Span]]:
        """Spans of scratch that are read, and that are written."""
        return [placed.span for placed in self.inputs], [placed.span for placed in self.outputs]
