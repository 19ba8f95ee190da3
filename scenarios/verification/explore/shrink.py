"""Shrink: from a failing case to a smaller one that still fails, by greedy, reproducible steps."""

from collections.abc import Iterator

import attrs

from tessbed.kernels import Contiguous, MlaCBlocked, MlaTiled
from tessbed.kernels.errors import ContractError
from tessbed.scenarios.model import Geometry
from tessbed.scenarios.verification.explore.bench import ExplorationCase
from tessbed.scenarios.verification.explore.exploration import Exploration, first_wrong

ORDERS = 40
"""So many orders decide whether a smaller case still goes wrong."""
ATTEMPTS = 400


def shrink(found: Exploration, seed: int) -> Exploration:
    """The smallest case that was found to go wrong in the same way: a corrupted byte, or else a finding."""
    attempts = 0
    smaller = True
    while smaller and attempts < ATTEMPTS:
        smaller = False
        for case in smaller_cases(found.operation_case):
            attempts += 1
            tried = _tried(case, found, seed)
            if tried is not None and _as_bad(tried, found):
                found, smaller = tried, True
                break
            if attempts == ATTEMPTS:
                break
    return found


def smaller_cases(case: ExplorationCase) -> Iterator[ExplorationCase]:
    """Cases one step smaller, boldest steps first."""
    for workers in _less(case.workers):
        yield attrs.evolve(case, workers=workers)
    for geometry in _smaller_geometries(case.geometry):
        yield attrs.evolve(case, geometry=geometry)


def _smaller_geometries(geometry: Geometry) -> Iterator[Geometry]:
    if not isinstance(geometry.linear, Contiguous):
        yield attrs.evolve(geometry, linear=Contiguous())
    for axis, extent in enumerate(geometry.shape):
        for less in _less(extent):
            yield attrs.evolve(geometry, shape=(*geometry.shape[:axis], less, *geometry.shape[axis + 1 :]))
    for tiled in _smaller_tiles(geometry.tiled):
        yield attrs.evolve(geometry, tiled=tiled)


def _smaller_tiles(tiled: MlaTiled | MlaCBlocked) -> Iterator[MlaTiled | MlaCBlocked]:
    if isinstance(tiled, MlaCBlocked):
        for name in ("tile_h", "tile_w", "tile_c"):
            for less in _less(getattr(tiled, name)):
                yield attrs.evolve(tiled, **{name: less})
        return
    tile = tuple(tiled.tile_shape)
    for axis, extent in enumerate(tile):
        for less in _less(extent):
            yield attrs.evolve(tiled, tile_shape=(*tile[:axis], less, *tile[axis + 1 :]))


def _less(number: int) -> list[int]:
    """Smaller numbers to try, boldest first."""
    return [n for n in dict.fromkeys((1, number // 4, number // 2, number - 1)) if 1 <= n < number]


def _tried(case: ExplorationCase, found: Exploration, seed: int) -> Exploration | None:
    try:
        return first_wrong(case, ORDERS, seed, unfound=not found.findings)
    except ContractError:
        return None


def _as_bad(tried: Exploration, found: Exploration) -> bool:
    """Wrong in the same way, with no more transfers."""
    if tried.transfers > found.transfers:
        return False
    if found.failure is None:
        return bool(tried.findings)
    return tried.failure is not None and tried.failure.kind == found.failure.kind
