"""DeviceSpec: strict, complete about errors, round trip, presets."""

import random
from collections import Counter
from copy import copy

import attrs
import pytest

from tessbed.sim.errors import SpecError
from tessbed.sim.spec import limits
from tessbed.sim.spec.device_spec import DeviceSpec, load_preset, override, preset_names, to_mapping

ERRORS = [
    ("unknown field", {"worker": 3}, ("worker",), "did you mean 'workers'"),
    ("unknown nested field", {"dma": {"outstandng": 3}}, ("dma", "outstandng"), "did you mean 'outstanding'"),
    ("unknown deep field", {"compute": {"vector_ticks": {"spilt": 1}}}, ("compute", "vector_ticks", "spilt"), "split"),
    ("bool for int", {"workers": True}, ("workers",), "got True, wanted an integer from 1 to 64"),
    ("float for int", {"workers": 4.0}, ("workers",), "got 4.0"),
    ("int for bool", {"byte_strobes": 1}, ("byte_strobes",), "wanted true or false"),
    ("text for int", {"dma": {"outstanding": "8"}}, ("dma", "outstanding"), "got '8'"),
    ("too many workers", {"workers": 65}, ("workers",), "from 1 to 64"),
    ("no workers", {"workers": 0}, ("workers",), "from 1 to 64"),
    ("negative setup", {"dma": {"setup_ticks": -1}}, ("dma", "setup_ticks"), "from 0"),
    ("no bytes per tick", {"memory": {"bytes_per_tick": 0}}, ("memory", "bytes_per_tick"), "from 1"),
    ("granule 48", {"write_granule_bytes": 48}, ("write_granule_bytes",), "power of two"),
    ("granule 8", {"write_granule_bytes": 8}, ("write_granule_bytes",), "from 16"),
    ("access 48", {"memory": {"access_bytes": 48}}, ("memory", "access_bytes"), "power of two"),
    ("nine slots", {"slots": 9}, ("slots",), "from 1 to 8"),
    ("no bandwidth left", {"memory": {"background_percent": 100}}, ("memory", "background_percent"), "to 99"),
    ("choice", {"data_movement": "at_isue"}, ("data_movement",), "did you mean 'at_issue'"),
    ("table wanted", {"dma": 3}, ("dma",), "wanted a table"),
    ("scratch too small", {"scratch_bytes": 65_700}, ("scratch_bytes",), "room for an input and 2 slots"),
    ("ids for some cores", {"core_ids": [1, 2]}, ("core_ids",), "one for each of 4 cores"),
    ("an id twice", {"core_ids": [1, 2, 3, 1]}, ("core_ids",), "distinct"),
    ("an id of text", {"core_ids": ["a"]}, ("core_ids",), "a list of ids"),
    ("window off the page", {"memory": {"window_base": 100}}, ("memory", "window_base"), "multiple of 4096"),
]


@pytest.mark.parametrize(("changes", "path", "text"), [m[1:] for m in ERRORS], ids=[m[0] for m in ERRORS])
def test_an_error_names_its_place_and_what_is_wanted(changes, path, text) -> None:
    """Each error is one problem: the path of keys, what was got, what is wanted."""
    with pytest.raises(SpecError) as caught:
        override(DeviceSpec(), changes)
    assert [problem_path for problem_path, _ in caught.value.problems] == [path]
    assert text in caught.value.problems[0][1]


def test_all_errors_come_at_once() -> None:
    """One SpecError holds every error of the mapping."""
    with pytest.raises(SpecError) as caught:
        override(DeviceSpec(), {"worker": 3, "slots": 0, "dma": {"arbitration": "rr"}, "core_ids": [1]})
    paths = [path for path, _ in caught.value.problems]
    assert paths == [("worker",), ("slots",), ("dma", "arbitration"), ("core_ids",)]


def test_a_spec_that_breaks_a_limit_cannot_be_made() -> None:
    """The constructor and attrs.evolve judge as override does."""
    with pytest.raises(SpecError, match="workers"):
        DeviceSpec(workers=65)
    with pytest.raises(SpecError, match="slots"):
        attrs.evolve(DeviceSpec(), slots=0)


def test_override_changes_what_it_names_and_nothing_else() -> None:
    """The resolved mapping differs from the base in the named leaves only."""
    changed = to_mapping(override(DeviceSpec(), {"dma": {"outstanding": 8}, "core_ids": [9, 3, 0, 4]}))
    expected = to_mapping(DeviceSpec())
    expected["dma"]["outstanding"] = 8
    expected["core_ids"] = [9, 3, 0, 4]
    assert changed == expected


def test_a_mapping_makes_the_spec_it_came_from() -> None:
    """to_mapping loses nothing."""
    spec = override(DeviceSpec(), {"core_ids": [9, 3, 0, 4], "memory": {"split_port": True}})
    assert override(DeviceSpec(), to_mapping(spec)) == spec


@pytest.mark.parametrize("name", preset_names())
def test_presets_load(name) -> None:
    """Every preset that is listed is a valid device."""
    assert isinstance(load_preset(name), DeviceSpec)


def test_the_default_preset_is_the_table_of_defaults() -> None:
    """`ev74-4core` is DeviceSpec() and has no byte strobes."""
    assert load_preset("ev74-4core") == DeviceSpec()
    assert not DeviceSpec().byte_strobes


def test_a_part_of_another_class_is_refused() -> None:
    """Also where the part itself was found right before, as a part of another device."""
    known = DeviceSpec()
    for part, other in (("dma", known.memory), ("compute", known.memory), ("memory", known.dma)):
        assert not limits.keeps_limits(_with(DeviceSpec(), part, other))


def _with(spec: DeviceSpec, part: str, value: object) -> DeviceSpec:
    object.__setattr__(spec, part, value)
    return spec


def test_an_unknown_preset_suggests_a_known_one() -> None:
    """The error names the preset that was probably meant."""
    with pytest.raises(SpecError, match="did you mean 'ev74-4core'"):
        load_preset("ev74-4cores")


def test_the_quick_check_finds_what_the_thorough_one_finds() -> None:
    """Of specs with random changes, valid and not, `keeps_limits` is true exactly where there is no problem."""
    rng, seen = random.Random(3), Counter()
    values = [
        0,
        1,
        2,
        3,
        16,
        64,
        100,
        128,
        4095,
        4096,
        1 << 32,
        (1 << 32) + 1,
        -1,
        True,
        1.0,
        "fifo",
        "seeded",
        (),
        (0, 0),
    ]
    names = [(part, field.name) for part in (None, "dma", "memory", "compute") for field in _fields(part)]
    for _ in range(3000):
        spec = DeviceSpec()
        for part, name in rng.sample(names, rng.randint(1, 2)):
            changed = copy(getattr(spec, part) if part else spec)
            object.__setattr__(changed, name, rng.choice(values))
            spec = _with(spec, part, changed) if part else changed
        _, problems = limits.find_problems(DeviceSpec, to_mapping(spec), {})
        assert limits.keeps_limits(spec) == (not problems), problems
        seen[not problems] += 1
    assert min(seen.values()) > 300


def _fields(part):
    """The fields of a part of a spec that are no specs themselves."""
    cls = DeviceSpec if part is None else type(getattr(DeviceSpec(), part))
    return [field for field in attrs.fields(cls) if not attrs.has(field.type)]
