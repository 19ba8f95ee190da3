"""Buffers: references balance, and every misuse is reported with the places in the caller's code."""

from collections.abc import Callable

import numpy as np
import pytest

from tessbed.kernels.errors import BindingError
from tessbed.runtime import Buffer, LifetimeError, Runtime, SubmitError
from tests.runtime.bench import make_device


@pytest.fixture
def runtime() -> Runtime:
    return Runtime(make_device())


def test_a_buffer_is_dirty_mapped_and_as_long_as_asked(runtime: Runtime) -> None:
    """Storage is page rounded, full of the prefill, and the device sees the very bytes the host writes."""
    buffer = runtime.allocate(5000, name="b")
    assert buffer.host.size == buffer.capacity == 5000
    assert buffer.address % 4096 == 0
    buffer.host[4999] = 7
    seen = runtime.devices[0].memory.view(buffer.address, 8192, write=False)
    assert seen[4998:5001].tolist() == [0xA5, 7, 0xA5]


@pytest.mark.parametrize("size", [-1, 1.5, True], ids=str)
def test_senseless_sizes_are_refused(runtime: Runtime, size: object) -> None:
    """A size is an integer of at least 0."""
    with pytest.raises(SubmitError, match=r"\[size\]"):
        runtime.allocate(size)  # pyright: ignore[reportArgumentType]


def test_double_free_names_all_three_places(runtime: Runtime) -> None:
    """Closing twice says where the buffer was made, closed first, and closed again."""
    buffer = runtime.allocate(16, name="b")
    buffer.close()
    with pytest.raises(LifetimeError, match=r"made at test_buffers.py:\d+.*twice, first at test_.*, now at test_"):
        buffer.close()


USES: dict[str, Callable[[Buffer], object]] = {
    "address": lambda buffer: buffer.address,
    "capacity": lambda buffer: buffer.capacity,
    "host": lambda buffer: buffer.host,
    "view": lambda buffer: buffer.view(),
    "share": lambda buffer: buffer.share(),
}


@pytest.mark.parametrize("use", USES)
def test_use_after_close_is_reported(runtime: Runtime, use: str) -> None:
    """Every way to use a closed handle raises, naming the use and the place of the close."""
    buffer = runtime.allocate(16, name="b")
    buffer.close()
    with pytest.raises(LifetimeError, match=rf"\.{use} used at test_buffers.* after close at test_buffers.py"):
        USES[use](buffer)


def test_the_last_reference_frees(runtime: Runtime) -> None:
    """Storage lives as long as one handle, and its address is free again after the last."""
    buffer = runtime.allocate(16, name="b")
    other, address = buffer.share(), buffer.address
    buffer.close()
    assert other.address == address
    assert len(runtime.allocator.leaks) == 1
    other.close()
    assert runtime.allocator.leaks == ()
    assert runtime.allocate(16).address == address


def test_views_are_bounded_by_what_they_view(runtime: Runtime) -> None:
    """A view of a view can not reach past it."""
    view = runtime.allocate(100, name="b").view(10, 50)
    assert view.view(40).length == 10
    with pytest.raises(BindingError, match=r"11 bytes at offset 40.*the view's 50"):
        view.view(40, 11)
    with pytest.raises(BindingError, match="1 bytes at offset 100"):
        view.buffer.view(100, 1)


def test_leaks_say_where_the_buffer_was_made(runtime: Runtime) -> None:
    """Closing the runtime reports what still lives, and who holds it."""
    runtime.allocate(123, name="forgotten")
    (leak,) = runtime.close()
    assert str(leak).startswith("buffer 'forgotten' of 123 bytes, made at test_buffers.py:")
    assert leak.holders == ("open handle",)


def test_a_with_statement_warns_of_leaks() -> None:
    """Leaving a runtime's block with a live buffer is a ResourceWarning with the place; after an error it is not."""
    with pytest.warns(ResourceWarning, match=r"1 buffers that still live: buffer 'kept'.*made at test_buffers.py"):  # noqa: SIM117
        with Runtime(make_device()) as runtime:
            runtime.allocate(16, name="kept")
    with pytest.raises(ZeroDivisionError), Runtime(make_device()) as runtime:
        runtime.allocate(1 // 0)


def test_an_export_outlives_its_maker(runtime: Runtime) -> None:
    """Another runtime maps the same bytes; both sides release it in any order, and then nothing lives."""
    other = Runtime(make_device())
    buffer = runtime.allocate(64, name="shared")
    handle = runtime.export(buffer.view(16, 32))
    buffer.close()
    view = other.adopt(handle)
    handle.close()
    view.host[:] = np.arange(32)
    assert other.devices[0].memory.view(view.address, 3, write=False).tolist() == [0, 1, 2]
    assert runtime.allocator.leaks[0].holders == ("export",)
    view.buffer.close()
    assert runtime.close() == other.close() == ()


def test_a_heap_outside_the_window_is_for_the_cpu(runtime: Runtime) -> None:
    """Its buffers exist, but no device sees them."""
    runtime.allocator.add_heap("cpu", 0x1000_0000, 1 << 20)
    assert not runtime.allocate(16, heap="cpu").allocation.mapped
    with pytest.raises(SubmitError, match="there are device, cpu"):
        runtime.allocate(16, heap="gpu")
