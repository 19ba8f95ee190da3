"""Recordings: the files that a timeline goes to, by their format; complete or not at all."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from tessbed.scenarios.output.files import replacing
from tessbed.scenarios.timeline.formats.jsonl import JsonLines
from tessbed.scenarios.timeline.formats.perfetto import PerfettoTrace
from tessbed.scenarios.timeline.formats.vcd import VcdTrace
from tessbed.scenarios.timeline.spans import Sink

VIEWS = (".gtkw", ".sucl")
"""Beside a VCD: what GTKWave and Surfer are to show of it."""


def outputs(path: Path, form: str) -> list[Path]:
    """The files that a timeline in that format is written to, `path` first."""
    return [path, *(path.with_suffix(suffix) for suffix in (VIEWS if form == "vcd" else ()))]


@contextmanager
def recording(path: Path, form: str) -> Iterator[Sink]:
    """A sink that writes `path` in that format. Raises OSError; then, and where the caller raises, nothing is left."""
    with WRITERS[form](path) as sink:
        yield sink
        sink.close()


@contextmanager
def _perfetto(path: Path) -> Iterator[Sink]:
    with replacing(path) as part, part.open("wb") as file:
        yield PerfettoTrace(file)


@contextmanager
def _jsonl(path: Path) -> Iterator[Sink]:
    with replacing(path) as part, part.open("w", encoding="utf-8", newline="\n") as file:
        yield JsonLines(file)


@contextmanager
def _vcd(path: Path) -> Iterator[Sink]:
    """The VCD, and beside it the save file of GTKWave and the command file of Surfer."""
    with ExitStack() as stack:
        parts = [stack.enter_context(replacing(output)) for output in outputs(path, "vcd")]
        files = [stack.enter_context(part.open("w", encoding="utf-8", newline="\n")) for part in parts]
        yield VcdTrace(*files)


WRITERS: dict[str, Callable[[Path], Any]] = {"pftrace": _perfetto, "vcd": _vcd, "jsonl": _jsonl}
