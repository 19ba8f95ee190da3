"""The notebook shows what its cells print and draw today."""

import subprocess
import sys

import pytest

from tests.docs.notebook import NOTEBOOK, ROOT, shown

# In a process of its own: the kernel's client leaves sockets and an event loop, which are warnings here.
EXECUTE = "import nbformat, sys; from tests.docs.notebook import *; nbformat.write(executed(NOTEBOOK), sys.argv[1])"


@pytest.mark.timeout(600)
def test_the_notebook_shows_what_its_cells_do(tmp_path):
    """Every output that is committed is that of a fresh run, from the first cell to the last."""
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
    pytest.importorskip("nbclient", reason="nbclient is not installed")
    file = tmp_path / "fresh.ipynb"
    subprocess.run([sys.executable, "-c", EXECUTE, file], cwd=ROOT, check=True)
    kept, fresh = (nbformat.read(path, as_version=4) for path in (NOTEBOOK, file))
    same = kept.metadata["matplotlib"] == fresh.metadata["matplotlib"]
    assert shown(fresh, pictures=same) == shown(kept, pictures=same)
    assert any("image/png" in output for cell in shown(kept, pictures=False) for output in cell)
    assert not any(cell.get("execution_count") is None for cell in kept.cells if cell.cell_type == "code")
