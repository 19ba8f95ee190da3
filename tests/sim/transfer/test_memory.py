"""Device memory: what may be mapped, what may be touched, and the code of each refusal."""

import numpy as np
import pytest

from tessbed.sim.errors import HazardError, MemoryFault
from tessbed.sim.spec.device_spec import MemorySpec
from tessbed.sim.transfer.memory import DeviceMemory

BASE = MemorySpec().window_base
TOP = BASE + MemorySpec().window_bytes
PAGE = 4096


@pytest.fixture
def memory():
    """Two pages writable, a hole of one page, one page read-only."""
    memory = DeviceMemory(MemorySpec())
    memory.map(BASE + PAGE, np.zeros(2 * PAGE, np.uint8), name="rw")
    memory.map(BASE + 4 * PAGE, np.zeros(PAGE, np.uint8), writable=False, name="ro")
    return memory


ACCESSES = [  # address, bytes, write, code
    ("first byte", BASE + PAGE, 1, True, None),
    ("whole mapping", BASE + PAGE, 2 * PAGE, True, None),
    ("read-only read", BASE + 4 * PAGE, PAGE, False, None),
    ("read-only write", BASE + 4 * PAGE, 1, True, "read_only"),
    ("before the window", BASE - 1, 1, False, "outside_window"),
    ("address zero", 0, 16, True, "outside_window"),
    ("past the window", TOP - 1, 2, False, "outside_window"),
    ("before any mapping", BASE, 1, False, "unmapped"),
    ("in the hole", BASE + 3 * PAGE, 1, False, "unmapped"),
    ("into the hole", BASE + 3 * PAGE - 1, 2, False, "straddles"),
    ("past the last", BASE + 5 * PAGE, 1, False, "unmapped"),
]


@pytest.mark.parametrize(
    ("address", "nbytes", "write", "code"), [a[1:] for a in ACCESSES], ids=[a[0] for a in ACCESSES]
)
def test_access(memory, address, nbytes, write, code) -> None:
    """An access gives its bytes, or the documented code."""
    if code is None:
        assert memory.view(address, nbytes, write=write).size == nbytes
        return
    with pytest.raises(MemoryFault) as caught:
        memory.view(address, nbytes, write=write)
    assert (caught.value.code, caught.value.address, caught.value.nbytes) == (code, address, nbytes)


def test_a_mapping_is_used_in_place() -> None:
    """Bytes written through the device are in the caller's array, and the other way round."""
    memory, array = DeviceMemory(MemorySpec()), np.zeros(PAGE, np.uint8)
    memory.map(BASE, array)
    memory.view(BASE + 5, 1, write=True)[0] = 9
    array[6] = 8
    assert memory.view(BASE + 5, 2, write=False).tolist() == [9, 8]
    assert array[5] == 9


def test_a_view_for_reading_cannot_write(memory) -> None:
    """write=False gives a read-only array."""
    assert not memory.view(BASE + PAGE, 4, write=False).flags.writeable


REFUSED = [
    ("overlap", BASE + 2 * PAGE, np.zeros(PAGE, np.uint8)),
    ("overlap from below", BASE + 3 * PAGE, np.zeros(2 * PAGE, np.uint8)),
    ("off the page", BASE + 16, np.zeros(PAGE, np.uint8)),
    ("part of a page", BASE, np.zeros(100, np.uint8)),
    ("nothing", BASE, np.zeros(0, np.uint8)),
    ("before the window", BASE - PAGE, np.zeros(PAGE, np.uint8)),
    ("past the window", TOP, np.zeros(PAGE, np.uint8)),
    ("words", BASE, np.zeros(PAGE, np.uint16)),
    ("two axes", BASE, np.zeros((2, PAGE), np.uint8)),
    ("strided", BASE, np.zeros(2 * PAGE, np.uint8)[::2]),
]


@pytest.mark.parametrize(("address", "array"), [r[1:] for r in REFUSED], ids=[r[0] for r in REFUSED])
def test_a_mapping_that_cannot_be_is_a_hazard(memory, address, array) -> None:
    """It is refused, and the memory stays as it was."""
    before = memory.mappings
    with pytest.raises(HazardError):
        memory.map(address, array)
    assert memory.mappings == before


def test_unmapped_bytes_fault_again(memory) -> None:
    """After unmap the range is a hole, even for the mapping used last."""
    mapping = memory.mappings[0]
    memory.view(mapping.address, 4, write=True)
    memory.unmap(mapping)
    with pytest.raises(MemoryFault, match="unmapped"):
        memory.view(mapping.address, 4, write=True)
    with pytest.raises(HazardError):
        memory.unmap(mapping)
