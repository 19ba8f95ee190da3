"""Executors: where the points of a sweep run: here, in processes of this machine, or on a Dask cluster."""

import os
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import attrs

from tessbed.scenarios.problems import Place, Problem, ScenarioError

DASK = "dask://"


class Here(Executor):
    """Runs each call at once, in this process."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """A future that is done already."""
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


@attrs.frozen
class Hiring:
    """How to get an executor, how many batches it can use at a time, and what to do when the sweep is over."""

    hire: Callable[[], Executor]
    width: int
    close: Callable[[], None] = lambda: None


def hiring(where: str, processes: int | None) -> Hiring:
    """For "here", "processes" or "dask://HOST:PORT". Raises ScenarioError for anything else."""
    if where == "here":
        return Hiring(Here, 1)
    if where == "processes":
        count = processes or os.cpu_count() or 1
        return Hiring(lambda: ProcessPoolExecutor(count, mp_context=get_context("spawn")), 2 * count)
    if where.startswith(DASK):
        return _dask(where.removeprefix(DASK))
    raise _wrong(f'got "{where}", wanted here, processes or dask://HOST:PORT')


def _dask(address: str) -> Hiring:
    try:
        from distributed import Client  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise _wrong("needs Dask: pip install 'tessbed[cluster]'") from None
    try:
        client: Any = Client(f"tcp://{address}", timeout=10, set_as_default=False)
    except (OSError, ValueError) as error:
        raise _wrong(f"no Dask scheduler answers at {address}: {error}") from None
    cores = sum(client.ncores().values())
    return Hiring(lambda: client.get_executor(pure=False, retries=1), max(2, 2 * cores), client.close)


def _wrong(text: str) -> ScenarioError:
    return ScenarioError([Problem(Place("--executor"), text)])
