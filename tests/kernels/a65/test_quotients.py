"""Quotients that the AVX2 rows make with a reciprocal are what a division rounds to."""

import subprocess
from pathlib import Path

import pytest

from tessbed.kernels.a65 import native_rows
from tests.kernels.a65.sanitized import ROOT, compiler

FLAGS = ("-O3", "-ffp-contract=off", "-w")


@pytest.mark.skipif(compiler() is None or native_rows.vectors() != "avx2", reason="needs Linux, gcc, and AVX2 with FMA")
def test_every_significand(tmp_path: Path) -> None:
    """No code has another quotient: by a scale of any significand, or of any exponent, at the ends of zero points."""
    program, source = tmp_path / "quotients", Path(__file__).with_name("quotients.c")
    include = f"-I{ROOT / 'kernels' / 'a65'}"
    subprocess.run([str(compiler()), *FLAGS, include, str(source), "-o", str(program)], check=True)
    told = subprocess.run([str(program)], check=True, capture_output=True, text=True, timeout=120).stdout
    assert told == f"0 of {2**23 + 255_000} scales\n"
