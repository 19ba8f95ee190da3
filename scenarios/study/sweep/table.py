"""Table: the rows of a sweep as CSV, JSON lines, Parquet, and as text."""

import csv
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any

from tessbed.scenarios.format.diagnostics import Location, Problem, ScenarioError
from tessbed.scenarios.output.files import replacing, unusable
from tessbed.scenarios.output.text_table import aligned, sparkline
from tessbed.scenarios.provenance.basis_words import KEY, basis_document, basis_lines
from tessbed.scenarios.provenance.tick_basis import TickBasis
from tessbed.scenarios.study.sweep.point import Row
from tessbed.scenarios.study.sweep.space import Setting, Space, plain

SHOWN = 20
REASONS = 3
EXTRAPOLATED = "extrapolated"
APART = ("jobs", "error", "instead", "passing", "bug")
Flat = dict[str, Any]


def flat(points: Sequence[Sequence[Setting]], rows: Sequence[Row], extrapolated: Sequence[str] = ()) -> list[Flat]:
    """One flat dict for each point: its values, then its results; the same columns in every one.

    `extrapolated` says for each point where it leaves what a calibration measured: a column where there is one.
    """
    found = []
    for point, row in zip(points, rows, strict=True):
        values = {key: plain(value) for key, value in point}
        values |= {name: value for name, value in row.items() if name not in APART}
        found.append(values | {f"device_ticks.{name}": ticks for name, ticks in row.get("jobs", {}).items()})
    columns = dict.fromkeys(chain.from_iterable(dict.fromkeys(map(tuple, found))))
    beyond = [{EXTRAPOLATED: text} for text in extrapolated] or [{}] * len(found)
    return [
        {**columns, **values, **own, "error": row.get("error", "")}
        for values, row, own in zip(found, rows, beyond, strict=True)
    ]


def table_provenance(rows: Sequence[Row], bases: Iterable[TickBasis]) -> dict[str, Any]:
    """The engines that ran, why not the one asked for, what the ticks rest on; in the words of a single study."""
    engines = dict.fromkeys(row["engine"] for row in rows if "engine" in row)
    instead = next((row["instead"] for row in rows if "instead" in row), None)
    return {"engine": " and ".join(engines), "instead": instead, KEY: basis_document(bases)}


def write_csv(path: Path, rows: Sequence[Flat]) -> None:
    """With a header line. All rows have the same columns."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(rows[0] if rows else ())
        writer.writerows(row.values() for row in rows)


def write_jsonl(path: Path, rows: Sequence[Flat]) -> None:
    """One object a line."""
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")


def write_parquet(path: Path, rows: Sequence[Flat]) -> None:
    """With pyarrow. A column of numbers and words becomes one of words."""
    import pyarrow as pa  # pyright: ignore[reportMissingImports]
    import pyarrow.parquet as pq  # pyright: ignore[reportMissingImports]

    columns = {name: [row[name] for row in rows] for name in (rows[0] if rows else {})}
    for name, values in columns.items():
        if any(isinstance(value, str) for value in values):
            columns[name] = [None if value is None else str(value) for value in values]
    pq.write_table(pa.table(columns), path)


WRITERS: dict[str, Callable[[Path, Sequence[Flat]], None]] = {
    ".csv": write_csv,
    ".jsonl": write_jsonl,
    ".parquet": write_parquet,
}


def check_files(names: Sequence[str], taken: Sequence[tuple[str, Path]] = ()) -> None:
    """Raise ScenarioError for a file that can not be written: before the work, and not after it.

    It may have no writer, no folder or no library, or be one of `taken`: (option, file) of each.
    """
    problems = []
    for name in names:
        path, place = Path(name), Location(f"--out {name}")
        if path.suffix not in WRITERS:
            problems.append(Problem(place, f"got the suffix {path.suffix!r}, wanted {', '.join(WRITERS)}"))
        elif other := next((option for option, file in taken if file.resolve() == path.resolve()), None):
            problems.append(Problem(place, f"is the file of {other}, too: wanted another one"))
        elif problem := unusable(path):
            problems.append(Problem(place, problem))
        elif path.suffix == ".parquet" and find_spec("pyarrow") is None:
            problems.append(Problem(place, "needs pyarrow: pip install 'tessbed[parquet]'"))
    if problems:
        raise ScenarioError(problems)


def write_table(names: Sequence[str], rows: Sequence[Flat]) -> None:
    """Write the rows to every one of these files. Raises OSError that names the file."""
    for name in names:
        with replacing(Path(name)) as part:
            WRITERS[part.suffix](part, rows)


def table_lines(name: str, space: Space, rows: Sequence[Flat], basis: Mapping[str, Any]) -> Iterator[str]:
    """The sweep for a person: the best points, and for each parameter the best makespan by value.

    `basis` is what its document says of its ticks.
    """
    good = [row for row in rows if not row["error"]]
    points = f"{len(rows):,} point{'s' * (len(rows) != 1)}"
    yield f"{name}: {points}, {len(rows) - len(good):,} without a result; device ticks, model ticks"
    yield from basis_lines({KEY: basis})
    yield from reasons(row["error"] for row in rows if row["error"])
    if not good:
        return
    keys = [axis.key for axis in space.axes]
    ranked = sorted(good, key=lambda row: row["device_ticks"])
    yield ""
    shown = ranked[:SHOWN] if len(ranked) > SHOWN else good
    yield f"the best {SHOWN}:" if len(ranked) > SHOWN else "all:"
    beyond = (EXTRAPOLATED,) if any(row.get(EXTRAPOLATED) for row in shown) else ()
    cells = [
        (
            *(str(row[key]) for key in keys),
            *(f"{row[column]:,}" for column in ("device_ticks", "job_ticks")),
            *(row[column] for column in beyond),
        )
        for row in shown
    ]
    yield from aligned((*keys, "device ticks", "job ticks", *beyond), cells, numbers=range(len(keys) + 2))
    for axis in space.axes:
        yield from by_value(axis.key, [plain(value) for value in axis.values], good, "device_ticks", "makespan")


def by_value(key: str, values: Sequence[Any], rows: Sequence[Flat], column: str, what: str) -> Iterator[str]:
    """What one parameter is worth: the best of a column for each of its values, whatever the others are."""
    pairs = [(value, [row[column] for row in rows if row[key] == value]) for value in values]
    best = [(value, min(ticks)) for value, ticks in pairs if ticks]
    yield ""
    yield f"{key}: best {what} by value  {sparkline([ticks for _, ticks in best])}"
    yield "  " + ", ".join(f"{value}: {ticks:,}" for value, ticks in best[:SHOWN])


def reasons(errors: Iterable[str]) -> Iterator[str]:
    """Why there is no result, the most frequent reasons first."""
    counted = Counter(error.replace("\n", "; ") for error in errors).most_common()
    yield from (f"  {count:,} of them: {error}" for error, count in counted[:REASONS])
    if counted[REASONS:]:
        yield f"  and {len(counted) - REASONS:,} more reasons"
