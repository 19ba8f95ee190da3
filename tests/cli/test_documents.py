"""JSON documents: valid in any encoding, whatever the text in them."""

import json

import pytest

from tessbed.commands.streams import echo_json

TEXTS = {  # text, as a reader of the document has it
    "plain": ("caf\xe9", "caf\xe9"),
    "beyond 16 bits": ("\U0001f600", "\U0001f600"),
    "a byte that is no UTF-8": ("\udcff", "\\xff"),
    "half a pair": ("\ud83d", "\\ud83d"),
    "the other half": ("\ude00", "\\ude00"),
}


@pytest.mark.parametrize(("text", "read"), TEXTS.values(), ids=TEXTS)
def test_a_document_is_ascii_and_holds_text_alone(text: str, read: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Characters come through; what is none, in a key too, is escaped, so that any reader takes the document."""
    echo_json({text: [text]})
    printed = capsys.readouterr().out
    assert printed.isascii()
    assert json.loads(printed) == {read: [read]}
