"""Option values: the choices of command line options; kept here so that parsing a command line loads no engine."""

ENGINES = ("simpy", "exact", "verify")
"""See `engines`."""
LOAD_ENGINES = ("exact", "verify")
"""How a load is run; see `study.load.event_run`."""
LOADGEN_SCENARIOS = ("single-stream", "multi-stream", "server", "offline")
"""The scenarios of MLPerf's LoadGen; see `study.load.loadgen`."""
TIMELINE_SUFFIXES = {".pftrace": "pftrace", ".perfetto-trace": "pftrace", ".vcd": "vcd", ".jsonl": "jsonl"}
"""The format of a timeline by the suffix of its file; see `timeline.recording`."""
SAMPLERS = ("tpe", "genetic", "random", "grid")
"""See `study.search.sampler`."""
LOAD_OBJECTIVES = {
    **{name: f"{name}_ticks" for name in ("mean", "p50", "p90", "p95", "p99", "max")},
    **{name: name for name in ("missed", "dropped", "utilisation")},
    "interval": "ticks_per_frame",
}
"""What a search can minimise of a load, and its column: the worst latency of all streams, frames of all, how busy the
busiest server is, and the ticks from frame to frame, which are least at the highest throughput."""
OBJECTIVES = {"ticks": "device_ticks", "job_ticks": "job_ticks", **LOAD_OBJECTIVES}
"""What a search can minimise, and its column in the rows."""
ARGUMENT = "--arg "
"""What a setting begins with that is an argument of a kernel of one's own."""
FEW_TRANSFERS = 8
"""Up to so many transfers of a job are explored in every order."""
