"""`tessbed diff`: what differs between two packets, field by field."""

import click

from tessbed.commands.custom_packets import diff_custom, format_option
from tessbed.commands.exits import FAILED, OK
from tessbed.commands.options import json_option, new_command, quiet_option, say
from tessbed.commands.packet_files import read_packets
from tessbed.commands.streams import echo_json, echo_text
from tessbed.commands.types import PACKET


@new_command("diff", "Compare packets A and B field by field. Exit code: 0 equal, 1 different, 2 unreadable.")
@click.argument("left", metavar="A", type=PACKET)
@click.argument("right", metavar="B", type=PACKET)
@format_option
@json_option
@quiet_option
def command(left: str, right: str, format_file: str | None, as_json: bool, quiet: bool) -> int:
    """One line for each field that differs, on stdout."""
    if format_file is not None:
        return diff_custom(format_file, left, right, as_json=as_json, quiet=quiet)
    from tessbed.kernels.ev74.diff import packet_changes, packet_difference

    one, two = (raw for _, raw in read_packets((left, right)))
    if as_json:
        fields = [
            {"offset": change.field.offset, "field": change.field.name, "left": change.left, "right": change.right}
            for change in packet_changes(one, two)
        ]
        echo_json({"equal": one == two, "bytes": [len(one), len(two)], "fields": fields})
    elif one != two:
        echo_text(packet_difference(one, two))
    if one == two and not as_json:
        say("the packets are equal", quiet=quiet)
    return OK if one == two else FAILED
