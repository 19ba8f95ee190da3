"""The declaration of a kernel: what it makes of a function, and what it refuses."""

import pytest

import tessbed
from tessbed.kernels.custom.declaration import Kernel
from tessbed.kernels.custom.expressions import Expression
from tessbed.kernels.custom.kernel_plan import plan_kernel
from tessbed.kernels.errors import ContractError


def body(w, src, dst, *, rows=4, factor=1.5):
    yield


def test_a_function_becomes_a_kernel():
    """Positional parameters are ports, keyword-only ones arguments; what is no output is an input."""
    made = tessbed.kernel(outputs={"dst": "float32[rows, 8]"}, level="body", scratch=("rows", 2), api=1)(body)
    assert isinstance(made, Kernel)
    assert [(port.name, port.written, port.text) for port in made.ports] == [
        ("src", False, ""),
        ("dst", True, "float32[rows, 8]"),
    ]
    assert [(argument.name, argument.default, argument.real) for argument in made.arguments] == [
        ("rows", 4, False),
        ("factor", 1.5, True),
    ]
    with pytest.raises(ContractError, match="a kernel runs on a device"):
        made(1, 2)


def plain(w, src, dst):
    return 1


def with_default(w, src, dst=None):
    yield


def with_text(w, dst, *, mode="fast"):
    yield


def with_star(w, *ports):
    yield


REFUSED = {
    "no generator": (plain, {"outputs": ["dst"]}, "no yield"),
    "no outputs": (body, {}, "got no outputs"),
    "unknown port": (body, {"outputs": ["dts"]}, "got a port dts, the function has src, dst"),
    "port twice": (body, {"inputs": ["src", "dst"], "outputs": ["dst"]}, "among the inputs and the outputs"),
    "missing port": (body, {"inputs": [], "outputs": ["dst"]}, "port src is in neither"),
    "a text for names": (body, {"outputs": "dst"}, "wanted names in a list"),
    "level": (body, {"outputs": ["dst"], "level": "band"}, 'wanted "bands" or "body"'),
    "api": (body, {"outputs": ["dst"], "api": 2}, "wanted 1"),
    "api is a number": (body, {"outputs": ["dst"], "api": True}, "wanted 1"),
    "form": (body, {"outputs": {"dst": "float32"}}, "wanted a scalar type and extents"),
    "scalar": (body, {"outputs": {"dst": "float23[4]"}}, "did you mean float"),
    "rank": (body, {"outputs": {"dst": "uint8[1, 2, 3, 4, 5, 6, 7]"}}, "got 7 extents"),
    "extent": (body, {"outputs": {"dst": "uint8[row]"}}, "got 'row' in 'row', the arguments are rows, factor"),
    "expression": (body, {"outputs": {"dst": "uint8[rows ** 2]"}}, "wanted integers, arguments"),
    "call": (body, {"outputs": {"dst": "uint8[open(rows)]"}}, "wanted integers, arguments"),
    "alignment": (body, {"outputs": {"dst": tessbed.Port("uint8[4]", align=3)}}, "a power of two"),
    "scratch": (body, {"outputs": ["dst"], "scratch": 3}, "wanted two sizes"),
    "default of a port": (with_default, {"outputs": ["dst"]}, "put a \\* before the arguments"),
    "default of an argument": (with_text, {"outputs": ["dst"]}, "wanted an integer or a float"),
    "star": (with_star, {"outputs": ["dst"]}, "got \\*ports"),
    "too many": (
        body,
        {"outputs": [f"p{number}" for number in range(9)]},
        "got 9 ports, wanted at most 8",
    ),
    "no function": (3, {"outputs": ["dst"]}, "wanted a generator function"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_declaration_that_can_not_be_is_refused(case):
    """A refusal says what was got and what is wanted."""
    function, options, text = REFUSED[case]
    with pytest.raises(ContractError, match=text):
        tessbed.kernel(**options)(function)


EXPRESSIONS = {"rows": 7, "rows * 2 + 1": 15, "(rows + 3) // 4": 2, "rows % 4": 3, "-rows + 9": 2, "max(rows, 9, 2)": 9}


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_a_size_is_an_expression(text):
    """Sizes are integers and arguments, and what a few operators make of them."""
    assert Expression.of(text, "here").value({"rows": 7}, "here") == EXPRESSIONS[text]


PLANS = {
    "unknown argument": ({"row": 1}, {}, "has rows, factor; did you mean rows"),
    "text": ({"rows": "4"}, {}, "wanted an integer"),
    "a float for an integer": ({"rows": 4.0}, {}, "wanted an integer"),
    "a flag": ({"rows": True}, {}, "wanted an integer"),
    "too large": ({"rows": 1 << 63}, {}, "as 64 bits hold"),
    "no number": ({"factor": float("nan")}, {}, "wanted a finite number"),
    "no rows": ({"rows": 0}, {}, r"wanted extents of at least 1 with rows=0"),
    "unknown port": ({}, {"sorc": ("uint8", (3,))}, "it has src, dst"),
    "shape": ({"rows": 4}, {"dst": (None, (5, 8))}, r"got the shape \[5, 8\], wanted \[4, 8\]"),
    "scalar type": ({}, {"dst": ("uint8", None)}, "got uint8, wanted float32"),
}


@pytest.mark.parametrize("case", PLANS)
def test_a_plan_that_can_not_be_is_refused(case):
    """What a job asks of a kernel is compared with its declaration, in the words of whoever asked."""
    arguments, forms, text = PLANS[case]
    made = tessbed.kernel(outputs={"dst": "float32[rows, 8]"})(body)
    with pytest.raises(ContractError, match=text):
        plan_kernel(made, arguments, forms)


def test_a_scratch_is_judged_with_the_arguments():
    """A share of the scratch that an argument makes impossible is refused with the plan."""
    made = tessbed.kernel(outputs=["dst"], scratch=(1, "rows - 4"))(body)
    with pytest.raises(ContractError, match=r"got \(1, 0\), wanted at least 0 bytes gathered and 1 packed"):
        plan_kernel(made, {"rows": 4})


def test_arguments_are_taken_from_shapes():
    """An argument that is an extent has the extent of the array, unless it is given."""
    made = tessbed.kernel(outputs={"dst": "float32[rows, 8]"})(body)
    plan = plan_kernel(made, {}, {"dst": ("float32", (9, 8))})
    assert plan.arguments == (("rows", 9), ("factor", 1.5))
    assert [port.shape for port in plan.ports] == [(9, 8), (9, 8)]
