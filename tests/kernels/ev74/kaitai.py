"""A packet reader that shares nothing with the product: Kaitai Struct compiles it from docs/packet.ksy.

The compiler is an npm package; it is installed once, by the lock file in tests/kaitai, into the user's cache folder.
"""

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import attrs

ROOT = Path(__file__).parents[3]
SOURCE = ROOT / "tests" / "kaitai"
KSY = ROOT / "docs" / "packet.ksy"
MANIFESTS = ("package.json", "package-lock.json")
INSTALL_SECONDS = 25
NPM = ("ci", "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=1", "--fetch-retry-mintimeout=1000")


class Unavailable(Exception):
    """Node.js or the compiler can not be had here; the text says which and why."""


def install() -> Path:
    """The folder whose node_modules holds the compiler; the first call ever downloads it. Raises Unavailable."""
    for program in ("node", "npm"):
        if shutil.which(program) is None:
            raise Unavailable(f"{program} is not installed: packet.ksy can not be compiled")
    lock = hashlib.sha256((SOURCE / MANIFESTS[1]).read_bytes()).hexdigest()[:16]
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tessbed" / f"kaitai-{lock}"
    if not home.exists():
        _download(home)
    return home


def _download(home: Path) -> None:
    """Installs beside `home` and renames, so that two test processes at once do no harm."""
    home.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=home.parent, ignore_cleanup_errors=True) as folder:
        for manifest in MANIFESTS:
            shutil.copy(SOURCE / manifest, folder)
        command = [shutil.which("npm") or "npm", *NPM]
        try:
            subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=INSTALL_SECONDS)
        except (subprocess.SubprocessError, OSError) as error:
            raise Unavailable(f"npm could not install the Kaitai Struct compiler: {error}") from error
        try:
            Path(folder).rename(home)
        except OSError:
            if not home.exists():
                raise


@attrs.frozen
class Reader:
    """The compiled reader: `home` holds node_modules, `work` takes the generated program."""

    home: Path
    work: Path

    def read(self, paths: Sequence[Path]) -> list[dict[str, int] | str]:
        """Every field of every packet, by name; for a packet that the reader refuses: where and why."""
        command = ["node", str(SOURCE / "read.js"), str(KSY), str(self.work), *map(str, paths)]
        environment = os.environ | {"NODE_PATH": str(self.home / "node_modules")}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)
