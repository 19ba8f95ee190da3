"""The packet's documents are generated, and what is committed is current."""

from pathlib import Path

import pytest

from tessbed.kernels.ev74.docgen.documents import DOCUMENTS, write_documents
from tessbed.kernels.ev74.fields import FIELDS
from tessbed.kernels.ev74.refusals import REFUSALS

DOCS = Path(__file__).parents[4] / "docs"


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_committed_document_is_current(name: str, tmp_path: Path) -> None:
    """docs/ holds, byte for byte, what the generator writes; `make docs` renews it."""
    write_documents(tmp_path)
    assert (DOCS / name).read_bytes() == (tmp_path / name).read_bytes()


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_describes_every_field(name: str) -> None:
    """Each document has every field's name and meaning."""
    text = DOCUMENTS[name]()
    assert [field.name for field in FIELDS if field.name not in text or field.meaning not in text] == []


def test_the_page_lists_every_fault() -> None:
    """Every fault code has its line."""
    text = DOCUMENTS["packet.md"]()
    assert [row.code for row in REFUSALS if f"- `{row.code}`: {row.meaning}\n" not in text] == []
