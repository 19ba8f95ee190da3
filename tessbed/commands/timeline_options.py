"""Options of the commands that record a timeline: which file, in which format."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tessbed.commands.options import say
from tessbed.scenarios.format.option_values import TIMELINE_SUFFIXES

if TYPE_CHECKING:
    from tessbed.scenarios.model import Scenario
    from tessbed.scenarios.timeline.spans import Sink
    from tessbed.scenarios.timeline.timeline import Timeline
    from tessbed.sim.spec.device_spec import DeviceSpec


def check_timeline(path: Path, form: str | None = None) -> str:
    """The format of a timeline's file, by its suffix unless `form` says it. Refuses what can not be written."""
    found = form or TIMELINE_SUFFIXES.get(path.suffix.lower())
    if found is None:
        *head, last = TIMELINE_SUFFIXES
        raise click.BadParameter(f"got {path.name}, wanted a name that ends in {', '.join(head)} or {last}")
    from tessbed.scenarios.timeline.recording import outputs

    for output in outputs(path, found):
        from tessbed.scenarios.output.files import unusable

        if problem := unusable(output):
            raise click.BadParameter(f"{output}: {problem}")
    return found


def _checked(context: click.Context, parameter: click.Parameter, path: Path | None) -> Path | None:
    """The file, which is refused before the work begins."""
    if path is not None:
        check_timeline(path)
    return path


timeline_option: Any = click.option(
    "--trace",
    "timeline",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    callback=_checked,
    help="Also write a timeline: .pftrace (Perfetto), .vcd or .jsonl.",
)


@contextmanager
def recorded(
    path: Path | None, device: "Scenario | DeviceSpec", *, form: str | None = None, quiet: bool
) -> "Iterator[Timeline | None]":
    """A timeline of a device, or of that of a scenario, in that file; none without one. Says what was written."""
    if path is None:
        yield None
        return
    from tessbed.scenarios.model import Scenario
    from tessbed.scenarios.timeline.timeline import Timeline

    with recorded_spans(path, form=form, quiet=quiet) as sink:
        yield Timeline.of_scenario(sink, device) if isinstance(device, Scenario) else Timeline.of(sink, device)


@contextmanager
def recorded_spans(path: Path, *, form: str | None = None, quiet: bool) -> "Iterator[Sink]":
    """The sink of a timeline in that file. Says what was written."""
    from tessbed.scenarios.timeline.recording import outputs, recording

    found = check_timeline(path, form)
    with recording(path, found) as sink:
        yield sink
    wrote = " and ".join(map(str, outputs(path, found)))
    say(f"wrote {wrote}: {sink.slices:,} spans{HINTS[found].format(path)}", quiet=quiet)


HINTS = {
    "pftrace": "; open it in ui.perfetto.dev",
    "vcd": "; open it in GTKWave or Surfer",
    "jsonl": "",
}
