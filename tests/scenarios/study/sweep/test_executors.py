"""A sweep on a real Dask scheduler with real workers, processes on loopback, one of them killed on the way."""

import re
import signal
import socket
import subprocess
import sys
import threading

import pytest

from tessbed.scenarios.format.diagnostics import ScenarioError
from tessbed.scenarios.study.sweep.executors import parse_executor
from tests.scenarios.study.sweep.test_execution import swept

pytest.importorskip("distributed")

VARIED = ("device.workers=1..16", "device.slots=1..4", "device.dma.outstanding=1..4")


@pytest.fixture
def cluster(tmp_path):
    """(address, worker processes, scheduler) of a scheduler with two workers."""
    started = []

    def start(module, *arguments):
        command = [sys.executable, "-m", f"distributed.cli.{module}", *arguments]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=tmp_path)
        started.append(process)
        return process

    scheduler = start("dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--no-jupyter")
    address = next(m[1] for line in scheduler.stderr if (m := re.search(r"tcp://(127\.0\.0\.1:\d+)", line)))
    options = ("--no-nanny", "--nthreads", "1", "--no-dashboard", "--host", "127.0.0.1")
    workers = [start("dask_worker", f"tcp://{address}", *options) for _ in range(2)]
    for worker in workers:
        assert any("Registered to" in line for line in worker.stderr)
    yield address, workers, scheduler
    for process in started:
        process.kill()
        process.wait()
        process.stderr.close()


@pytest.mark.filterwarnings("ignore")
def test_a_cluster_that_loses_a_worker(cluster, tmp_path) -> None:
    """The table is the local one, though a worker was killed while it had points."""
    address, workers, _ = cluster
    (tmp_path / "here").mkdir()
    (tmp_path / "there").mkdir()
    right = swept(tmp_path / "here", VARIED)
    reported = []

    def kill(done):
        reported.append(done)
        if len(reported) == 2:
            workers[0].send_signal(signal.SIGKILL)

    assert swept(tmp_path / "there", VARIED, where=f"dask://{address}", progress=kill) == right
    assert workers[0].wait(10) == -signal.SIGKILL
    assert len(reported) > 4


@pytest.mark.filterwarnings("ignore")
def test_a_cluster_that_goes(cluster, tmp_path) -> None:
    """Without its scheduler a sweep ends with a sentence, and goes on elsewhere from what is done."""
    address, _, scheduler = cluster
    (tmp_path / "here").mkdir()
    (tmp_path / "there").mkdir()
    reported = []

    def kill(done):
        reported.append(done)
        if len(reported) == 2:
            scheduler.send_signal(signal.SIGKILL)

    with pytest.raises(ConnectionError, match="the executor has gone; what is done is kept"):
        swept(tmp_path / "there", VARIED, where=f"dask://{address}", progress=kill)
    rest = []
    assert swept(tmp_path / "there", VARIED, progress=rest.append) == swept(tmp_path / "here", VARIED)
    assert 0 < rest[0] < sum(rest) == 256


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("answer", "words"), [(None, "no result arrived within 3 s"), (b"\xff" * 64, "")])
def test_an_address_where_no_scheduler_answers(answer, words) -> None:
    """Somebody who is silent, or answers something else, is reported from a scheduler, and nothing waits for him."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        talker = threading.Thread(target=_answer, args=(server, answer))
        talker.start()
        with pytest.raises(ScenarioError, match=f"no Dask scheduler answers at {address}: {words}"):
            parse_executor(f"dask://{address}", None)
        talker.join()


def _answer(server, answer) -> None:
    """Take both connections of a knock, and say `answer` or nothing until the other hangs up."""
    for _ in range(2):
        connection, _ = server.accept()
        with connection:
            if answer:
                connection.sendall(answer)
            while connection.recv(4096):
                pass
