"""The study verbs at a terminal: what they say beside their result, and the pictures that they draw."""

import json

import pytest

SWEPT = ("--vary", "device.workers=1,2", "--executor", "here", "--db", "results")
VERBS = {"explain": (), "bound": (), "advise": ("--max-workers", 2), "whatif": (), "sweep": SWEPT}
TIMED = ("--set", "jobs.*.timeout_ticks=9_000_000")
INSTEAD = "job compact has a timeout, which only the event engine can run into"


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("verb", VERBS)
def test_another_engine_is_told(verb, tessbed) -> None:
    """Where simpy runs in place of exact, stderr says so in a sentence, and the document has the same reason."""
    on_device = ("--set", "jobs.*.backend=ev74")
    said = tessbed(verb, "documents-2x17", *on_device, *TIMED, *VERBS[verb], "--json")
    told = json.loads(said.out)
    assert (told["engine"], told["instead"]) == ("simpy", INSTEAD)
    assert f"engine simpy, not exact: {INSTEAD}\n" in said.err
    said = tessbed(verb, "documents-2x17", *on_device, *VERBS[verb], "--json")
    told = json.loads(said.out)
    assert (told["engine"], told["instead"]) == ("exact", None)
    assert "engine" not in said.err
