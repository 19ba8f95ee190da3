"""Collection: which scenario files a session has, and what is written into them after an update."""

import glob
import os
import re
from collections.abc import Generator
from pathlib import Path
from typing import Any

import attrs
import pytest

from tessbed.pytest_plugin.expectation_update import JobMeasurement, update_file
from tessbed.pytest_plugin.scenario_items import ScenarioFile, ScenarioItem, shown_path

SETTING = "tessbed_scenarios"
JOBS = re.compile(rb"^\s*(\[\[\s*jobs\s*\]\]|jobs\s*=)", re.MULTILINE)
MOST_BYTES = 1 << 28


@attrs.define(eq=False)
class ScenarioCollection:
    """The scenarios of one session: the files that the setting names; with --tessbed any file that has jobs.

    Under pytest-xdist each worker has its own, and the controller writes what is updated.
    """

    config: pytest.Config
    named: frozenset[Path] = attrs.field(init=False)
    measured: list[JobMeasurement] = attrs.field(factory=list, init=False)
    written: list[str] = attrs.field(factory=list, init=False)

    def __attrs_post_init__(self) -> None:
        self.named = frozenset(path for pattern in self.config.getini(SETTING) for path in self._matching(pattern))
        if self.config.args_source is pytest.Config.ArgsSource.TESTPATHS:
            self.config.args += [str(path) for path in sorted(self.named) if not self._reached(path)]

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> ScenarioFile | None:
        """The file as a collector of scenario items, where it is one."""
        if file_path.suffix == ".toml" and (file_path.resolve() in self.named or self._asked(file_path)):
            return ScenarioFile.from_parent(parent, path=file_path)
        return None

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Send what an item measured along with its report: the session that writes files may be another process."""
        report = yield
        if call.when == "call" and isinstance(item, ScenarioItem) and item.measured:
            report.tessbed_measured = attrs.asdict(item.measured)  # pyright: ignore[reportAttributeAccessIssue]
        return report

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Keep what was measured."""
        found = getattr(report, "tessbed_measured", None)
        if found:
            self.measured.append(JobMeasurement(**found))

    def pytest_sessionfinish(self) -> None:
        """Write the files, where this is asked for and this is the process that does it."""
        if self.config.getoption("tessbed_update") and not hasattr(self.config, "workerinput"):
            by_file: dict[str, list[JobMeasurement]] = {}
            for one in self.measured:
                by_file.setdefault(one.file, []).append(one)
            self.written = [self._updated(Path(name), of_file) for name, of_file in sorted(by_file.items())]

    def _updated(self, path: Path, measured: list[JobMeasurement]) -> str:
        return f"{shown_path(path, self.config)}: {update_file(path, measured)}"

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Say what became of each file."""
        if self.written:
            terminalreporter.section("tessbed: expectations")
            for line in self.written:
                terminalreporter.write_line(line)

    def _matching(self, pattern: str) -> list[Path]:
        """The files of a pattern; the file that has the setting is none of them, though `*.toml` may match it."""
        root, settings = self.config.rootpath, self.config.inipath
        found = [Path(name).resolve() for name in glob.glob(os.path.join(root, pattern), recursive=True)]
        files = sorted(path for path in found if path.is_file() and not (settings and path == settings.resolve()))
        if not files:
            raise pytest.UsageError(
                f"{SETTING}: got {pattern!r}, which matches no file in {root}; wanted scenario files"
            )
        return files

    def _reached(self, path: Path) -> bool:
        """Whether collecting the session's arguments leads to the file."""
        starts = [self.config.invocation_params.dir / argument.partition("::")[0] for argument in self.config.args]
        return any(start.resolve() in (path, *path.parents) for start in starts)

    def _asked(self, path: Path) -> bool:
        """Whether --tessbed collects the file: it was named itself, or looks like a scenario."""
        if not (self.config.getoption("tessbed") or (self.config.getoption("tessbed_update") and not self.named)):
            return False
        base = self.config.invocation_params.dir
        if path.resolve() in [(base / argument.partition("::")[0]).resolve() for argument in self.config.args]:
            return True
        with path.open("rb") as file:
            return JOBS.search(file.read(MOST_BYTES)) is not None
