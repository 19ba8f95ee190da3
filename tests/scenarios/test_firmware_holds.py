"""What an image holds can be said kernel by kernel, and a job's needs are compared with it."""

from pathlib import Path

import pytest

from tessbed.firmware_models.composition import Composition
from tessbed.kernels import DType, MlaTiled, Plan, TensorSpec
from tessbed.kernels.ops import detess, tess
from tessbed.kernels.tensor import ChannelStorage
from tessbed.runtime import CapabilityError
from tessbed.runtime.graph.graph import Graph, Node
from tessbed.runtime.graph.registration import register
from tessbed.scenarios import backends
from tessbed.scenarios.format.diagnostics import ScenarioError
from tessbed.scenarios.format.loader import compose
from tessbed.scenarios.format.toml_source import parse_toml
from tessbed.scenarios.model import Scenario, to_values
from tessbed.scenarios.report import document
from tessbed.scenarios.runner import run_scenario
from tessbed.sim.spec.device_spec import DeviceSpec

HOLDS = '{ op = "tess", dtype = "int8", format = "pad16" }, { op = "detess", dtype = "bf16" }'


def scenario(holds: str, *jobs: tuple[str, str, str], more: str = "") -> Scenario:
    """EV74 jobs, each an operation, a scalar type and how its pixels are stored."""
    text = f'name = "holds"\n[firmware]\nholds = [{holds}]\n{more}\n'
    for number, (op, dtype, channels) in enumerate(jobs):
        fill = "int8_channel_padding = 0" if (op, dtype) == ("tess", "int8") else ""
        text += f"""
            [[jobs]]
            name = "job {number}"
            op = "{op}"
            backend = "ev74"
            dtype = "{dtype}"
            shape = [4, 3]
            tiled = {{ axes = [-1, -1, 0, 1], tile = [1, 1, 2, 3], channels = "{channels}" }}
            input = {{ pattern = "golden" }}
            {fill}
        """
    return compose(parse_toml(text, "holds.toml"), Path())


def test_an_image_with_kernels_of_two_operations_runs_them() -> None:
    """Tess INT8 and Detess BF16 alone: no product of operations and scalar types says that."""
    made = scenario(HOLDS, ("tess", "int8", "pad16"), ("detess", "bf16", "compact"), ("detess", "bf16", "pad16"))
    assert document(run_scenario(made))["verdict"] == "ok"
    assert made.firmware.holds == (
        ("tess", "int8", "pad16"),
        ("detess", "bf16", "compact"),
        ("detess", "bf16", "pad16"),
    )
    assert to_values(made)["firmware"]["holds"][0] == {"op": "tess", "dtype": "int8", "format": "pad16"}


@pytest.mark.parametrize(
    "job",
    [("tess", "bf16", "pad16"), ("tess", "int8", "compact"), ("detess", "int8", "pad16")],
    ids=["scalar type of the other", "tile format", "scalar type"],
)
def test_what_is_in_the_product_but_not_held_is_refused(job: tuple[str, str, str]) -> None:
    """Each of the operation, the scalar type and the format is there, and the kernel is not."""
    with pytest.raises(ScenarioError, match=rf"firmware\.holds: got .*, wanted {' '.join(job)} too: jobs\[0\]"):
        scenario(HOLDS, job)


ERRORS = {
    "a format that the operation has not": (
        '{ op = "tess", dtype = "int8", format = "cblocked" }', "", r'holds\[0\]\.format: got "cblocked", tess has'
    ),
    "a scalar type that the operation has not": (
        '{ op = "detesscast", dtype = "int8" }', "", r'holds\[0\]\.dtype: got "int8", detesscast has bf16'
    ),
    "no operation": ('{ dtype = "int8" }', "", r"holds\[0\]\.op: missing"),
    "an unknown operation": ('{ op = "tes" }', "", r"holds\[0\]\.op: got .*did you mean tess"),
    "both ways at once": ('{ op = "tess" }', 'ops = ["tess"]', r"firmware\.ops: got holds as well, wanted one of them"),
}  # fmt: skip


@pytest.mark.parametrize(("holds", "more", "words"), ERRORS.values(), ids=ERRORS.keys())
def test_errors(holds: str, more: str, words: str) -> None:
    """Each is reported in its place."""
    with pytest.raises(ScenarioError, match=words):
        scenario(holds, ("tess", "int8", "pad16"), more=more)


def plan(module, dtype: DType, storage: ChannelStorage) -> Plan:
    """A plan of a [4, 3] tensor."""
    tiled = TensorSpec([4, 3], dtype, MlaTiled([-1, -1, 0, 1], [1, 1, 2, 3], storage))
    params = tess.Params(0) if module is tess and dtype is DType.INT8 else None
    return module.check_inference(module.request(tiled, TensorSpec([4, 3], dtype), params))


def test_a_graph_names_every_kernel_that_is_missing() -> None:
    """Both sides by operation, scalar type and tile format, all differences at once."""
    pad16 = ChannelStorage.PAD16
    nodes = [
        Node("pack", plan(tess, DType.BF16, pad16), "ev74", "x", "t"),
        Node("back", plan(detess, DType.BF16, pad16), "ev74", "t", "y"),
    ]
    held = Composition(holds=[("tess", "int8", "pad16"), ("detess", "bf16", "compact")])
    image = backends.FirmwareImage(held)
    with backends.ev74(DeviceSpec(), firmware=image) as runtime, pytest.raises(CapabilityError) as caught:
        register(Graph("both", nodes), runtime)
    assert caught.value.missing == (
        "dtype: the job needs bf16, the image holds int8 of tess",
        "tile format: the job needs pad16, the image holds compact of detess bf16",
    )
    assert caught.value.needed == "tess bf16 pad16 packet version 1.0, detess bf16 pad16 packet version 1.0"
    assert "tess int8 pad16, detess bf16 compact; packet version 1.0" in str(caught.value)
