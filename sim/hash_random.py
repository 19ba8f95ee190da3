"""Random numbers without a stream: hashed from what they belong to, so no order of events can change them."""

MASK = (1 << 64) - 1
GOLDEN = 0x9E37_79B9_7F4A_7C15


def draw(seed: int, *keys: int) -> int:
    """A number in [0, 2**64) that depends on the seed and the keys alone (SplitMix64 over them)."""
    state = seed & MASK
    for key in keys:
        state = _mix(state + GOLDEN + (key & MASK))
    return _mix(state + GOLDEN)


def _mix(value: int) -> int:
    value &= MASK
    value = ((value ^ (value >> 30)) * 0xBF58_476D_1CE4_E5B9) & MASK
    value = ((value ^ (value >> 27)) * 0x94D0_49BB_1331_11EB) & MASK
    return value ^ (value >> 31)
