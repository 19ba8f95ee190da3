"""`tessbed diff`: what differs between two packets, field by field."""

import json

import click

from tessbed.kernels.ev74.diff import changes, difference
from tessbed.verbs.exits import FAILED, OK
from tessbed.verbs.options import command as verb
from tessbed.verbs.options import json_option, quiet_option, say
from tessbed.verbs.packet_files import read_packet


@verb("diff", "Compare packets A and B field by field. Exit code: 0 equal, 1 different, 2 unreadable.")
@click.argument("left", metavar="A")
@click.argument("right", metavar="B")
@json_option
@quiet_option
def command(left: str, right: str, as_json: bool, quiet: bool) -> int:
    """One line for each field that differs, on stdout."""
    one, two = read_packet(left), read_packet(right)
    if as_json:
        fields = [
            {"offset": change.field.offset, "field": change.field.name, "left": change.left, "right": change.right}
            for change in changes(one, two)
        ]
        click.echo(json.dumps({"equal": one == two, "bytes": [len(one), len(two)], "fields": fields}, indent=2))
    else:
        click.echo(difference(one, two), nl=False)
    if one == two and not as_json:
        say("the packets are equal", quiet=quiet)
    return OK if one == two else FAILED
