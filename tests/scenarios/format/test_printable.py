"""Printable text: everything that could play tricks on a terminal is an escape, and nothing else is."""

import json
import os

import pytest

from tessbed.scenarios.format.printable import encodable, escaped

TEXTS = {
    "plain": ("plain", "plain"),
    "umlauts": ("Größe 5 µs", "Größe 5 µs"),
    "escape": ("\x1b[2J", "\\x1b[2J"),
    "C1 control": ("\x9b2J", "\\x9b2J"),
    "override": ("a\u202eb", "a\\u202eb"),
    "isolate": ("\u2066a\u2069", "\\u2066a\\u2069"),
    "invisible": ("a\u200bb", "a\\u200bb"),
    "line": ("a\nb\r", "a\\nb\\r"),
    "byte": (os.fsdecode(b"caf\xe9"), "caf\\xe9"),
    "surrogate": ("\ud800", "\\ud800"),
    "tag": ("\U000e0041", "\\U000e0041"),
}


@pytest.mark.parametrize(("text", "shown"), TEXTS.values(), ids=TEXTS)
def test_escapes(text: str, shown: str) -> None:
    """What is shown is printable, and says what was there."""
    assert escaped(text) == shown
    assert escaped(text).isprintable()


def test_lines_can_be_kept() -> None:
    """A text of many lines keeps its line ends and tabs."""
    assert escaped("a\n\tb\x1b", keep="\n\t") == "a\n\tb\\x1b"


def test_documents_are_unicode() -> None:
    """No text of a document holds half a character, in keys neither."""
    document = {os.fsdecode(b"\xff"): [os.fsdecode(b"caf\xe9"), {"n": 1, "t": ("\ud83d", "\U0001f600")}]}
    assert encodable(document) == {"\\xff": ["caf\\xe9", {"n": 1, "t": ["\\ud83d", "\U0001f600"]}]}
    json.dumps(encodable(document), ensure_ascii=False).encode("utf-8")
