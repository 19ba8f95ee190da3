"""Legal orders of a job, tried one after the other: no tick, only what must come before what."""
