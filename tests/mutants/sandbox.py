"""A sandbox: a copy of the tree, in which one mutant after the other is planted, tested and taken out again."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import attrs

from tests.mutants.table import Mutant

LEFT_OUT = shutil.ignore_patterns(".*", "__pycache__", "build", "dist", "runs", "*.egg-info")
BUILD = "from setuptools import setup; setup()"
PYTEST = ("-m", "pytest", "-x", "-q", "--no-header", "--tb=no", "-p", "no:cacheprovider")
PASSED, FAILED, STOPPED = 0, 1, 2  # exit codes of pytest; it stops where a module can not be imported
FIRST_FAILURE = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)


@attrs.frozen
class Outcome:
    """The outcome of a mutant: a word of OUTCOMES, and what caught it or what went wrong."""

    word: str
    detail: str = ""

    @property
    def good(self) -> bool:
        """Whether a test caught it."""
        return self.word == "killed"


OUTCOMES = {
    "killed": "a named test failed, did not end in time, or was ended by a signal",
    "survived": "every named test passed",
    "does not apply": "the old text does not occur exactly once",
    "does not build": "the C compiler refused it",
    "not run": "pytest could not run the named tests",
}


@attrs.define(eq=False)
class Sandbox:
    """One copy of the tree at `root`. `timeout_s` bounds each run of tests, `build` what a change of C takes."""

    root: Path
    timeout_s: float
    _clock: int = attrs.field(default=1_000_000_000, init=False)

    @classmethod
    def of(cls, tree: Path, root: Path, timeout_s: float) -> "Sandbox":
        """A copy of `tree`, with the extensions that are built there."""
        shutil.copytree(tree, root, symlinks=True, ignore=LEFT_OUT)
        return cls(root, timeout_s)

    def try_mutant(self, mutant: Mutant) -> Outcome:
        """Plant the mutant, run its tests, take it out again."""
        if (found := mutant.found(self.root)) != 1:
            return Outcome("does not apply", f"the old text occurs {found} times in {mutant.file}")
        with self._planted(mutant):
            if mutant.in_c and (said := self._build(self.root / mutant.file)):
                return Outcome("does not build", said)
            return self.run_tests(mutant.tests)

    def run_tests(self, tests: tuple[str, ...]) -> Outcome:
        """What the tests say of the tree as it is."""
        try:
            done = self._python(*PYTEST, *tests)
        except subprocess.TimeoutExpired:
            return Outcome("killed", f"no end within {self.timeout_s:.0f} s")
        if done.returncode == PASSED:
            return Outcome("survived")
        if done.returncode < 0:
            return Outcome("killed", f"signal {-done.returncode} ended the tests")
        caught = FIRST_FAILURE.search(done.stdout)
        if done.returncode in (FAILED, STOPPED) and caught:
            return Outcome("killed", caught[1])
        return Outcome("not run", last_line(done.stdout + done.stderr))

    @contextmanager
    def _planted(self, mutant: Mutant) -> Iterator[None]:
        path = self.root / mutant.file
        before = path.read_text(encoding="utf-8")
        built = {so: so.read_bytes() for so in self._extensions()} if mutant.in_c else {}
        try:
            self._write(path, before.replace(mutant.old, mutant.new))
            yield
        finally:
            self._write(path, before)
            for so, data in built.items():
                so.write_bytes(data)

    def _extensions(self) -> list[Path]:
        """The built extensions, without those that a build of the mutant before left in its own folder."""
        return [so for so in self.root.rglob("*.so") if not so.is_relative_to(self.root / "build")]

    def _write(self, path: Path, text: str) -> None:
        """Give each version a time of its own: Python and the compiler distinguish versions by size and time alone."""
        path.write_text(text, encoding="utf-8")
        self._clock += 10
        os.utime(path, (self._clock, self._clock))

    def _build(self, source: Path) -> str:
        """Build the extension of a C source, which lies beside it; returns what went wrong, if something did.

        Nothing built before is kept: sources have times of long ago, so that the last mutant's build would be newer.
        """
        shutil.rmtree(self.root / "build", ignore_errors=True)
        for so in source.parent.glob("*.so"):
            so.unlink()
        try:
            done = self._python("-c", BUILD, "build_ext", "--inplace")
        except subprocess.TimeoutExpired:
            return f"no end within {self.timeout_s:.0f} s"
        return "" if any(source.parent.glob("*.so")) else last_line(done.stdout + done.stderr)

    def _python(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PYTHONPATH": str(self.root), "PYTHONHASHSEED": "0"}
        return subprocess.run(
            [sys.executable, *arguments], cwd=self.root, env=environment, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, check=False, timeout=self.timeout_s,
        )  # fmt: skip


def last_line(text: str) -> str:
    """The last line that is not empty."""
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")
