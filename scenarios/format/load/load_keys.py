"""The keys of a load: what streams, servers and devices there are, and what a job says of its place among others.

`SCENARIO_FILE` is the whole table of keys of a scenario file, those of a load included.
"""

from typing import Any

import attrs

from tessbed.scenarios.format.schema_keys import (
    CBLOCKED,
    DEVICE,
    FAULT,
    FILE_NAME,
    INPUT,
    INTEGER,
    JOB,
    KERNEL_JOB,
    MAX_SEED,
    PER_AXIS,
    SCENARIO,
    TEXT,
    TILED,
    Key,
    Kind,
    all_dtypes,
    integer_kind,
    listed,
    one_from,
    one_of,
    op_names,
)
from tessbed.scenarios.load.load_model import ON_FULL

EXTERNAL = "external"
MOST_TICKS = 2**40
TICKS = integer_kind(1, MOST_TICKS)
TICKS_OR_NONE = integer_kind(0, MOST_TICKS)
COUNT = integer_kind(1, 1024)
FRAMES = integer_kind(1, 10**8)
NAMES = listed('a list of names of jobs, such as ["image", "network"]', TEXT)


def _positive(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= 10**6


POSITIVE = Kind("a number above 0, at most 1000000", _positive, {"type": "number", "minimum": 0})


def _are_ticks(value: Any) -> bool:
    """Whether a value says how long an external job takes: a number, or a table with one distribution."""
    if not isinstance(value, dict):
        return TICKS_OR_NONE.fits(value)
    match value:
        case {"poisson": mean, **rest}:
            return TICKS.fits(mean) and not rest
        case {"uniform": [low, high], **rest}:
            return TICKS_OR_NONE.fits(low) and TICKS.fits(high) and low <= high and not rest
        case {"gamma": mean, "cv": cv, **rest}:
            return TICKS.fits(mean) and POSITIVE.fits(cv) and not rest
    return False


SERVICE = Kind(
    f"ticks from 0 to {MOST_TICKS}, {{ poisson = MEAN }}, {{ uniform = [LOW, HIGH] }} with LOW at most HIGH, "
    "or { gamma = MEAN, cv = CV }",
    _are_ticks,
    {
        "anyOf": [
            {"type": "integer", "minimum": 0, "maximum": MOST_TICKS},
            {
                "type": "object",
                "properties": {
                    "poisson": TICKS.form,
                    "uniform": {"type": "array", "items": INTEGER.form, "minItems": 2, "maxItems": 2},
                    "gamma": TICKS.form,
                    "cv": POSITIVE.form,
                },
                "additionalProperties": False,
            },
        ]
    },
)
AFTER = Key("after", "jobs that must have ended before it starts, by name", NAMES, default=())
OP_OR_EXTERNAL = attrs.evolve(next(key for key in JOB if key.name == "op").kind or TEXT, choices=lambda: _ops())


def _ops() -> tuple[str, ...]:
    return (*op_names(), EXTERNAL)


PORT = (
    Key("dtype", "scalar type of the port's tensor", one_from(all_dtypes), required=True),
    Key("shape", "logical extents of the port's tensor", PER_AXIS, required=True),
    Key("tiled", "its layout: pixel-major tiles", table=TILED),
    Key("cblocked", "its layout: channel blocks of 16; dense row-major without both", table=CBLOCKED),
)
EXTERNAL_JOB = (
    Key("name", "name of the job, unique in the file", TEXT, required=True),
    Key("op", "external: no operation of Tessbed, it only takes time in a load", one_of(EXTERNAL), required=True),
    Key("server", "the server that it occupies, by name", TEXT, required=True),
    Key("ticks", "how long it takes", SERVICE, required=True),
    Key(
        "reads",
        "what it reads of other jobs, which end before it starts; the layouts must be equal",
        table=(Key("job", "the job whose output it reads, by name", TEXT, required=True), *PORT),
        many=True,
    ),
    Key(
        "writes",
        "what it writes, for jobs with input = { job, port }; their bytes are the golden pattern",
        table=(Key("name", "name of the port", TEXT, required=True), *PORT),
        many=True,
    ),
    AFTER,
)
"""The keys of a job that takes time on a server of its own."""
HANDED = (
    Key("job", "the output of an earlier job, by name; the layouts must be equal", TEXT),
    Key("port", "which port of an external job; its only one without the key", TEXT),
)
PLACE = (
    AFTER,
    Key("device", "the [[devices]] that run it in a load, by name; those of its stream without it", TEXT),
    Key("priority", "priority among the jobs that wait for a device in a load", integer_kind(-1000, 1000)),
    Key("queue", "the runtime's queue in a load, of which each stream has one; one of its own without it", TEXT),
)
LOADED_JOB = (
    *(attrs.evolve(key, kind=OP_OR_EXTERNAL) if key.name == "op" else key for key in JOB if key.name != "input"),
    attrs.evolve(next(key for key in JOB if key.name == "input"), table=(*INPUT, *HANDED)),
    *PLACE,
)
ARRIVALS = (
    Key("every", "ticks from one frame to the next", TICKS),
    Key("poisson", "ticks from one frame to the next on average, exponentially distributed", TICKS),
    Key("gamma", "ticks from one frame to the next on average, gamma distributed", TICKS),
    Key("cv", "coefficient of variation of gamma", POSITIVE),
    Key("trace", "a .csv file with the columns tick and stream, in the order of ticks", FILE_NAME),
    Key("closed", "frames that circulate: each comes again when it has ended", integer_kind(1, 10**6)),
    Key("think", "ticks from the end of a frame of closed to when it comes again", TICKS_OR_NONE),
    Key("at_once", "so many frames at one tick", integer_kind(1, 10**7)),
    Key("first", "tick of the first frame of every and at_once", TICKS_OR_NONE),
)
STREAM = (
    Key("name", "name of the stream, unique in the file", TEXT, required=True),
    Key("jobs", "the jobs that each frame runs, by name; all of them without the key", NAMES),
    Key("arrivals", "when frames come: see the page on loads", table=ARRIVALS),
    Key("fps", "frames a second, instead of arrivals: the same as every, by the device's clock", POSITIVE),
    Key("deadline_ticks", "ticks from its arrival after which a frame is late; none without it", TICKS),
    Key(
        "in_flight",
        "frames that have entered and not ended, at most; without it any number, with queue one for each server",
        FRAMES,
    ),
    Key("queue", "frames that wait for their first job to start, at most; any number without it", TICKS_OR_NONE),
    Key("on_full", "what becomes of a frame that comes while the queue is full", one_of(*ON_FULL), default="block"),
    Key("device", "the [[devices]] that run its EV74 jobs, by name", TEXT),
    Key("priority", "priority of its jobs where several wait for a device", integer_kind(-1000, 1000), default=0),
)
FRAME_FAULT = (
    Key("stream", "the stream, by name", TEXT, required=True),
    Key("frame", "the frame, from 0, in the order in which they come", integer_kind(0, 10**8), required=True),
    Key("job", "the job of the frame, by name; it runs on a device", TEXT, required=True),
    *FAULT,
)
SECTIONS = (
    Key("host", "the host in a load", table=(Key("cores", "cores, each for one A65 job at a time", COUNT, default=8),)),
    Key(
        "servers",
        "the servers of external jobs in a load, where there is more than one of a name",
        table=(
            Key("name", "name of the server, as external jobs say it", TEXT, required=True),
            Key("count", "so many of them", COUNT, default=1),
        ),
        many=True,
    ),
    Key(
        "devices",
        "the devices in a load; one, as `device` says, without it",
        table=(
            Key("name", "name of the devices", TEXT, required=True),
            Key("count", "so many of them, with one queue", integer_kind(1, 64), default=1),
            Key(
                "depth",
                "jobs that the host keeps on each, at most; it does them in order",
                integer_kind(1, 64),
                default=1,
            ),
            Key("device", "fields that differ from those of `device`", DEVICE),
        ),
        many=True,
    ),
    Key(
        "queues",
        "the queues of jobs in a load, where one has rules of its own",
        table=(
            Key("name", "name of the queue, as jobs say it", TEXT, required=True),
            Key("grace_ticks", "ticks behind a timeout in which a record still ends its job", TICKS_OR_NONE, default=0),
        ),
        many=True,
    ),
    Key("streams", "streams of frames, for `tessbed load`", table=STREAM, many=True),
    Key("faults", "faults that strike a job of one frame of a stream in a load", table=FRAME_FAULT, many=True),
    Key(
        "load",
        "how much of the streams is simulated by `tessbed load`",
        table=(
            Key("frames", "frames of each stream; 1000 without frames and horizon_ticks", FRAMES),
            Key("horizon_ticks", "tick from which on no frame comes", integer_kind(1, 2**50)),
            Key(
                "warmup",
                "first frames of each stream that are left out of the latencies",
                integer_kind(0, 10**9),
                default=0,
            ),
            Key("replications", "runs, each with random numbers of its own", integer_kind(1, 1000), default=1),
            Key(
                "seed",
                "seed of whatever is random in a load; that of the scenario without it",
                integer_kind(0, MAX_SEED),
            ),
        ),
    ),
)
FORMS = (("op", EXTERNAL, EXTERNAL_JOB), ("kernel", "", (*KERNEL_JOB, *PLACE)))
SCENARIO_FILE = (
    *(attrs.evolve(key, table=LOADED_JOB, forms=FORMS) if key.name == "jobs" else key for key in SCENARIO),
    *SECTIONS,
)
