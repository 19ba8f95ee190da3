"""`tessbed disasm`: packets, field by field."""

import click

from tessbed.commands.custom_packets import disasm_custom, format_option
from tessbed.commands.diagnostics import PartlyInvalid
from tessbed.commands.options import json_option, new_command
from tessbed.commands.packet_files import fault, readable
from tessbed.commands.streams import echo, echo_json
from tessbed.commands.types import PACKET

HELP = """Show PACKET files (- for standard input) field by field: offset, bytes, field, value, meaning.

Shows invalid packets too, with the fault and a ! at each row in error. `tessbed verify` judges."""


@new_command("disasm", HELP)
@click.argument("packets", metavar="PACKET...", nargs=-1, required=True, type=PACKET)
@format_option
@json_option
def command(packets: tuple[str, ...], format_file: str | None, as_json: bool) -> None:
    """The listings on stdout. Raises PartlyInvalid for files that can not be read, once the others are shown."""
    if format_file is not None:
        disasm_custom(format_file, packets, as_json=as_json)
        return
    contents, problems = readable(packets)
    documents = [_document(name, raw) for name, raw in contents] if as_json else []
    if not as_json:
        _print(contents, titled=len(packets) > 1)
    if problems:
        raise PartlyInvalid(problems, {"packets": documents})
    if as_json:
        echo_json(documents)


def _print(contents: list[tuple[str, bytes]], *, titled: bool) -> None:
    from tessbed.kernels.disassembly import disassemble

    for index, (name, raw) in enumerate(contents):
        if index:
            echo()
        first, *lines = disassemble(raw).removesuffix("\n").split("\n")
        echo(f"{name}: {first}" if titled else first, *lines)


def _document(name: str, raw: bytes) -> dict[str, object]:
    from tessbed.kernels.custom.codec import is_custom
    from tessbed.kernels.custom.fields import FIELDS as CUSTOM_FIELDS
    from tessbed.kernels.ev74.fields import FIELDS

    fields = CUSTOM_FIELDS if is_custom(raw) else FIELDS
    return {
        "packet": name,
        "bytes": len(raw),
        "fault": fault(raw),
        "fields": {
            field.name: int.from_bytes(raw[field.offset : field.end], "little")
            for field in fields
            if len(raw) >= field.end
        },
    }
