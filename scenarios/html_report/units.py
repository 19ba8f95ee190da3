"""Units: model ticks beside what they would be at the device's clock."""


def microseconds(ticks: float, clock_mhz: int) -> str:
    """As "52.35 µs"."""
    return f"{ticks / clock_mhz:,.2f} µs"


def rate(nbytes: float, ticks: float, clock_mhz: int) -> str:
    """As "12.34 GB/s"; nothing for no ticks."""
    return f"{nbytes * clock_mhz / ticks / 1000:,.2f} GB/s" if ticks else ""
