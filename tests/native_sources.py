"""The number of each extension's C sources; `python -m tests.native_sources` writes it where it is kept.

It is the CRC-32 of the sources and headers that pyproject.toml names, in the order of their names, in 31 bits, without
the line that holds it.
"""

import re
import tomllib
from pathlib import Path
from zlib import crc32

ROOT = Path(__file__).resolve().parents[1]
CALLERS = {
    "tessbed.kernels.a65._rows": "kernels/a65/native_rows.py",
    "tessbed.sim.exact._exact": "sim/exact/native.py",
    "tessbed.scenarios.load._load": "scenarios/load/load_tables.py",
}
IN_C = re.compile(rb"^#define TESSBED_SOURCES (0x[0-9A-F]{8})$", re.MULTILINE)
IN_PYTHON = re.compile(rb"^SOURCES = (0x[0-9A-F]{8})$", re.MULTILINE)


def sources_of(name: str) -> list[Path]:
    """The C files of an extension."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (known,) = [one for one in project["tool"]["setuptools"]["ext-modules"] if one["name"] == name]
    return [ROOT / path for path in sorted([*known["sources"], *known.get("depends", [])])]


def number_of(name: str) -> int:
    """The number that its sources have now."""
    return crc32(b"".join(IN_C.sub(b"", path.read_bytes()) for path in sources_of(name))) & 0x7FFFFFFF


def numbers_kept(name: str) -> dict[str, int]:
    """The number in the C source and in the Python module, by the file."""
    places = [(path, IN_C) for path in sources_of(name)] + [(ROOT / CALLERS[name], IN_PYTHON)]
    found = {path: pattern.findall(path.read_bytes()) for path, pattern in places}
    return {str(path.relative_to(ROOT)): int(text, 16) for path, texts in found.items() for text in texts}


def write_numbers() -> None:
    """Write each number into the C source and the Python module that keep it."""
    for name, caller in CALLERS.items():
        number = f"0x{number_of(name):08X}".encode()
        for path, pattern in [*((path, IN_C) for path in sources_of(name)), (ROOT / caller, IN_PYTHON)]:
            text = path.read_bytes()
            path.write_bytes(pattern.sub(lambda kept, new=number: kept[0].replace(kept[1], new), text))


if __name__ == "__main__":
    write_numbers()
