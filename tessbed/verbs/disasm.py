"""`tessbed disasm`: packets, field by field."""

import json

import click

from tessbed.kernels.ev74.disasm import disassemble
from tessbed.kernels.ev74.fields import FIELDS
from tessbed.kernels.ev74.packet import read
from tessbed.verbs.options import command as verb
from tessbed.verbs.options import json_option
from tessbed.verbs.packet_files import fault, read_packet

HELP = """Show PACKET files (- for standard input) field by field: offset, bytes, field, value, meaning.

Shows invalid packets too, with the fault and a ! at each row in error. `tessbed verify` judges."""


@verb("disasm", HELP)
@click.argument("packets", metavar="PACKET...", nargs=-1, required=True)
@json_option
def command(packets: tuple[str, ...], as_json: bool) -> None:
    """The listings on stdout."""
    contents = [(name, read_packet(name)) for name in packets]
    if as_json:
        click.echo(json.dumps([_document(name, raw) for name, raw in contents], indent=2))
        return
    for index, (name, raw) in enumerate(contents):
        title = f"{name}: " if len(contents) > 1 else ""
        click.echo(f"{chr(10) if index else ''}{title}{disassemble(raw)}", nl=False)


def _document(name: str, raw: bytes) -> dict[str, object]:
    return {
        "packet": name,
        "bytes": len(raw),
        "fault": fault(raw),
        "fields": {field.name: read(raw, field) for field in FIELDS if len(raw) >= field.end},
    }
