"""Errors at once: whatever is wrong with a file is reported in one go, so that correcting one error shows no other."""

import copy
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from tessbed.scenarios.format.diagnostics import KeyPath, ScenarioError
from tessbed.scenarios.format.loader import compose
from tessbed.scenarios.format.toml_source import Source

MISSING = "no such key"
VALID: dict[str, Any] = {
    "name": "b",
    "seed": 1,
    "device": {"workers": 8, "slots": 2, "dma": {"outstanding": 4}},
    "firmware": {"ops": ["tess", "detess", "detesscast", "quanttess", "detessdequant"], "dtypes": ["int8", "bf16"]},
    "jobs": [
        {
            "name": "j0",
            "op": "tess",
            "backend": "ev74",
            "dtype": "int8",
            "shape": [4, 6, 20],
            "tiled": {"axes": [-1, 0, 1, 2], "tile": [1, 2, 3, 16], "channels": "pad16"},
            "linear": {"strides_bytes": [1000, 40, 2]},
            "int8_channel_padding": 3,
            "input": {"file": "good.npy"},
            "workers": 4,
        },
        {
            "name": "j1",
            "op": "detesscast",
            "backend": "both",
            "dtype": "bf16",
            "shape": [4, 6, 20],
            "cblocked": {"tile": [2, 3, 16]},
            "to": "fp32",
            "input": {"pattern": "golden"},
            "faults": [{"kind": "dma_error", "worker": 1}],
            "expect": {"fault": "dma_error"},
            "timeout_ticks": 1000,
        },
        {
            "name": "j2",
            "op": "detess",
            "backend": "a65",
            "dtype": "bf16",
            "shape": [2, 4, 16],
            "tiled": {"axes": [-1, 0, 1, 2], "tile": [1, 2, 2, 16]},
            "input": {"file": "good.bin"},
        },
        {
            "name": "j3",
            "op": "quanttess",
            "backend": "both",
            "dtype": "fp32",
            "shape": [4, 6, 20],
            "tiled": {"axes": [-1, 0, 1, 2], "tile": [1, 2, 3, 16], "channels": "pad16"},
            "quantization": {"scale": 8.5, "zero_point": -56, "rounding": "up"},
            "input": {"file": "wide.npy"},
        },
        {
            "name": "j4",
            "op": "detessdequant",
            "backend": "both",
            "dtype": "int8",
            "shape": [4, 6, 20],
            "cblocked": {"tile": [2, 3, 16]},
            "quantization": {"scale": 8.5, "zero_point": -56},
            "input": {"pattern": "golden"},
        },
    ],
}
ERRORS: list[tuple[KeyPath, Any]] = [
    (("name",), 7),
    (("seed",), -1),
    (("about",), True),
    (("sede",), 1),
    (("device", "workers"), "many"),
    (("device", "slots"), 99),
    (("device", "dma", "outstanding"), 0),
    (("device", "dma", "outstandign"), 3),
    (("firmware", "ops"), ["detess"]),
    (("firmware", "ops", 1), "detes"),
    (("firmware", "dtypes"), ["int8"]),
    (("firmware", "dtypes", 0), "int9"),
    (("firmware", "packet_versions"), ["x"]),
    (("jobs", 0, "name"), MISSING),
    (("jobs", 0, "op"), "tes"),
    (("jobs", 0, "backend"), "ev47"),
    (("jobs", 0, "dtype"), "in8"),
    (("jobs", 0, "shape", 0), -4),
    (("jobs", 0, "shape", 1), "6"),
    (("jobs", 0, "tiled", "axes", 1), 9),
    (("jobs", 0, "tiled", "axes", 2), 1.5),
    (("jobs", 0, "tiled", "tile", 1), 0),
    (("jobs", 0, "tiled", "tile", 2), "3"),
    (("jobs", 0, "tiled", "tile", 3), -16),
    (("jobs", 0, "tiled", "channels"), "pad61"),
    (("jobs", 0, "linear", "strides_bytes", 0), -1),
    (("jobs", 0, "linear", "strides_bytes", 1), 0),
    (("jobs", 0, "linear", "strides_bytes", 2), "2"),
    (("jobs", 0, "int8_channel_padding"), MISSING),
    (("jobs", 0, "int8_channel_padding"), 300),
    (("jobs", 0, "input", "file"), "wrong.npy"),
    (("jobs", 0, "input", "file"), "missing.npy"),
    (("jobs", 0, "input", "pattern"), "golden"),
    (("jobs", 0, "input", "pattern"), "gold"),
    (("jobs", 0, "workers"), 9),
    (("jobs", 0, "workers"), 0),
    (("jobs", 0, "expect"), {"output_sha256": "xyz"}),
    (("jobs", 1, "name"), "j2"),
    (("jobs", 1, "op"), "detescast"),
    (("jobs", 1, "to"), MISSING),
    (("jobs", 1, "to"), "fp23"),
    (("jobs", 1, "int8_channel_padding"), 1),
    (("jobs", 1, "cblocked", "tile", 0), 0),
    (("jobs", 1, "cblocked", "tile", 2), -1),
    (("jobs", 1, "input"), MISSING),
    (("jobs", 1, "input", "pattern"), 4),
    (("jobs", 1, "faults", 0, "kind"), "dma_eror"),
    (("jobs", 1, "faults", 0, "worker"), 30),
    (("jobs", 1, "faults", 0, "ticks"), -1),
    (("jobs", 1, "expect", "fault"), "dma"),
    (("jobs", 1, "timeout_ticks"), 0),
    (("jobs", 2, "shape", 2), -16),
    (("jobs", 2, "tiled"), MISSING),
    (("jobs", 2, "tiled", "axes"), [0, 1]),
    (("jobs", 2, "tiled", "tile"), MISSING),
    (("jobs", 2, "workers"), 2),
    (("jobs", 2, "to"), "fp32"),
    (("jobs", 2, "input", "file"), "short.bin"),
    (("jobs", 2, "speed"), 2),
    (("jobs", 3, "op"), "quantess"),
    (("jobs", 3, "dtype"), "int8"),
    (("jobs", 3, "quantization"), MISSING),
    (("jobs", 3, "quantization", "scale"), 0.0),
    (("jobs", 3, "quantization", "scale"), MISSING),
    (("jobs", 3, "quantization", "zero_point"), 128),
    (("jobs", 3, "quantization", "zero_point"), MISSING),
    (("jobs", 3, "quantization", "rounding"), "nearest"),
    (("jobs", 3, "quantization", "bits"), 8),
    (("jobs", 3, "int8_channel_padding"), 200),
    (("jobs", 3, "tiled", "tile", 1), 0),
    (("jobs", 3, "input", "file"), "good.npy"),
    (("jobs", 3, "input", "file"), "wrong.npy"),
    (("jobs", 4, "dtype"), "fp32"),
    (("jobs", 4, "quantization", "scale"), -2.0),
    (("jobs", 4, "quantization", "rounding"), "up"),
    (("jobs", 4, "cblocked", "tile", 1), 0),
    (("jobs", 4, "input", "pattern"), "image"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Input files, right and wrong ones."""
    path = tmp_path_factory.mktemp("inputs")
    np.save(path / "good.npy", np.zeros((4, 6, 20), np.int8))
    np.save(path / "wide.npy", np.zeros((4, 6, 20), np.float32))
    np.save(path / "wrong.npy", np.zeros((6, 4, 20), np.float32))
    (path / "good.bin").write_bytes(bytes(256))
    (path / "short.bin").write_bytes(bytes(255))
    return path


def changed(chosen: list[tuple[KeyPath, Any]]) -> dict[str, Any]:
    """VALID with the errors."""
    values = copy.deepcopy(VALID)
    for (*way, last), value in chosen:
        inner: Any = values
        for step in way:
            inner = inner[step]
        if value is MISSING:
            del inner[last]
        else:
            inner[last] = value
    return values


def reported(chosen: list[tuple[KeyPath, Any]], folder: Path) -> set[str]:
    """The keys that are reported, and for unknown ones the names."""
    try:
        compose(Source("f", changed(chosen), {}, {}), folder)
    except ScenarioError as error:
        return {problem.text.split(":")[0] for problem in error.problems}
    return set()


NEEDS: list[tuple[tuple[KeyPath, Any], KeyPath]] = [
    ((("jobs", 2, "input", "file"), "short.bin"), ("jobs", 2, "shape")),
    ((("jobs", 2, "input", "file"), "short.bin"), ("jobs", 2, "tiled")),
    ((("jobs", 0, "workers"), 9), ("device", "workers")),
    ((("jobs", 1, "faults", 0, "worker"), 30), ("device", "workers")),
]
"""An error only beside a right value of another key: how long a file must be, how many workers there are."""


def compatible(chosen: list[tuple[KeyPath, Any]]) -> Iterator[tuple[KeyPath, Any]]:
    """Those that are errors side by side: no value inside another, none twice, none that needs what is wrong."""
    kept: list[KeyPath] = []
    for path, value in chosen:
        needed = [need for error, need in NEEDS if error == (path, value)]
        overlaps = any(path[: len(other)] == other or other[: len(path)] == path for other in kept)
        if not overlaps and not any(other[: len(need)] == need for other, _ in chosen for need in needed):
            kept.append(path)
            yield path, value


@pytest.mark.parametrize("error", ERRORS, ids=[f"{path}={value}" for path, value in ERRORS])
def test_each_is_one(error: tuple[KeyPath, Any], folder: Path) -> None:
    """Each error alone is reported."""
    assert reported([], folder) == set()
    assert reported([error], folder)


@pytest.mark.parametrize("count", [60, pytest.param(1000, marks=pytest.mark.long)])
def test_correcting_one_shows_no_other(count: int, folder: Path) -> None:
    """Of random sets of errors, whichever one is corrected: what is reported then was reported before."""
    random = Random(12)
    for _ in range(count):
        chosen = list(compatible(random.sample(ERRORS, random.randint(2, 8))))
        before = reported(chosen, folder)
        for corrected in chosen:
            after = reported([one for one in chosen if one is not corrected], folder)
            assert after <= before, (corrected, [one for one in chosen if one is not corrected])


def test_an_array_of_another_dtype_shows_at_once(folder: Path) -> None:
    """The file's dtype and shape are reported beside a fill that is missing."""
    chosen = [ERRORS[[path for path, _ in ERRORS].index(("jobs", 0, "int8_channel_padding"))]]
    chosen.append((("jobs", 0, "input", "file"), "wrong.npy"))
    assert reported(chosen, folder) == {"jobs[0].int8_channel_padding", "jobs[0].input.file"}
