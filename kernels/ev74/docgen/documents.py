"""Writes the documents of the packet format: `python -m tessbed.kernels.ev74.docgen.documents [FOLDER]`."""

import sys
from pathlib import Path

from tessbed.kernels.ev74.docgen.c_header import packet_header
from tessbed.kernels.ev74.docgen.imhex import packet_hexpat
from tessbed.kernels.ev74.docgen.kaitai import packet_ksy
from tessbed.kernels.ev74.docgen.page import packet_page

DOCUMENTS = {
    "packet.md": packet_page,
    "packet.ksy": packet_ksy,
    "packet.hexpat": packet_hexpat,
    "tessbed_packet.h": packet_header,
}


def write_documents(folder: Path) -> None:
    """Writes every document into `folder`, which must exist."""
    for name, text in DOCUMENTS.items():
        (folder / name).write_text(text(), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    write_documents(Path(sys.argv[1] if len(sys.argv) > 1 else "docs"))
