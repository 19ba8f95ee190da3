"""The balance of a soak: every job in exactly one final state, every buffer free, every output that counts right."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import attrs

from tessbed.scenarios.provenance.basis_words import KEY, basis_document, basis_lines
from tessbed.scenarios.provenance.tick_basis import TickBasis

SCHEMA_VERSION = 1


@attrs.define
class Account:
    """What a part of a soak came to. All of it repeats exactly with the seed, but for `rss_bytes`.

    `endings` counts jobs by how they ended, `refusals` requests that never became a job, by error; `notices` what the
    runtime found odd. `problems` are findings that must not be. `rss_bytes` are resident after the first thousand jobs
    and at the most from then on, 0 where the platform does not report it.
    """

    jobs: int = 0
    endings: Counter[str] = attrs.field(factory=Counter)
    refusals: Counter[str] = attrs.field(factory=Counter)
    notices: Counter[str] = attrs.field(factory=Counter)
    resets: int = 0
    exits: int = 0
    checked_outputs: int = 0
    ticks: int = 0
    digest: str = ""
    problems: list[str] = attrs.field(factory=list)
    rss_bytes: tuple[int, int] = (0, 0)


@attrs.frozen
class SoakReport:
    """The parts of a soak, in their order, and what the ticks of its devices rest on."""

    scenario: str
    profile: str
    seed: int
    basis: TickBasis
    parts: tuple[Account, ...]

    @property
    def problems(self) -> tuple[str, ...]:
        """All that went wrong with the runtime, not with the simulated device."""
        return tuple(text for part in self.parts for text in part.problems)

    @property
    def ok(self) -> bool:
        """True where nothing was lost, leaked, freed early or wrong."""
        return not self.problems

    @property
    def rss_growth_percent(self) -> float:
        """How much the resident memory of the worst part grew after its first thousand jobs."""
        growths = [100.0 * (end - first) / first for first, end in (part.rss_bytes for part in self.parts) if first]
        return max(growths, default=0.0)

    def document(self) -> dict[str, Any]:
        """Everything that repeats exactly with scenario, seed and version, ready for JSON."""
        return {
            "schema_version": SCHEMA_VERSION,
            "name": self.scenario,
            "verdict": "ok" if self.ok else "failed",
            "faults": self.profile,
            "seed": self.seed,
            KEY: basis_document([self.basis]),
            "jobs": self._sum("jobs"),
            "endings": self._merged("endings"),
            "refusals": self._merged("refusals"),
            "notices": self._merged("notices"),
            "checked_outputs": self._sum("checked_outputs"),
            "resets": self._sum("resets"),
            "client_exits": self._sum("exits"),
            "ticks": [part.ticks for part in self.parts],
            "digests": [part.digest for part in self.parts],
            "problems": list(self.problems),
        }

    def table(self) -> list[str]:
        """The account for a person."""
        reported = self.document()
        lines = [f"{self.scenario}: {reported['jobs']} jobs, faults: {self.profile}, seed {self.seed}", ""]
        lines += _rows("jobs ended", reported["endings"])
        lines += _rows("requests refused", reported["refusals"])
        lines += _rows("oddities noticed", reported["notices"])
        lines += [f"outputs checked byte by byte  {reported['checked_outputs']}"]
        lines += [
            f"device resets                 {reported['resets']}",
            f"clients gone                  {reported['client_exits']}",
        ]
        lines += ["", *basis_lines(reported), *self.problems[:20]]
        lines += [
            "nothing lost, nothing leaked, nothing stale" if self.ok else f"FAILED: {len(self.problems)} problems"
        ]
        return lines

    def _sum(self, name: str) -> int:
        return sum(getattr(part, name) for part in self.parts)

    def _merged(self, name: str) -> dict[str, int]:
        total: Counter[str] = sum((getattr(part, name) for part in self.parts), Counter())
        return {key: total[key] for key in sorted(total)}


def _rows(title: str, counts: dict[str, int]) -> Sequence[str]:
    return [title, *(f"  {name:<28}{count:>8}" for name, count in counts.items())] if counts else []
