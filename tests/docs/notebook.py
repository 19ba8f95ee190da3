"""The notebook of the documentation, executed by a real kernel; what it shows is compared with what is committed.

Text is compared word for word. A picture is the same, byte for byte, with the same matplotlib, whose version the
notebook notes; with another one there must be a picture of the same kind.
"""

import os
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tests.docs.quoted import ROOT

NOTEBOOK = ROOT / "docs/notebook.ipynb"
SECONDS = 240


def executed(path: Path) -> Any:
    """The notebook with fresh outputs. Raises CellExecutionError with the traceback of a cell that fails."""
    import nbformat
    from nbclient import NotebookClient
    from traitlets.config import Config

    notebook = nbformat.read(path, as_version=4)
    unseen = Config({"KernelManager": {"transport": "ipc"}})  # files in a folder of one's own, no port of the machine
    client = NotebookClient(
        notebook,
        timeout=SECONDS,
        startup_timeout=SECONDS,
        record_timing=False,
        config=unseen if os.name == "posix" else None,
    )
    client.execute(env=os.environ | {"PYTHONPATH": str(ROOT)})
    notebook.metadata = {"kernelspec": notebook.metadata["kernelspec"], "matplotlib": version("matplotlib")}
    return notebook


def write_executed(path: Path) -> None:
    """Execute the notebook and write it with its outputs."""
    import nbformat

    nbformat.write(executed(path), path)


def shown(notebook: Any, *, pictures: bool) -> list[list[dict[str, Any]]]:
    """What each cell shows; without `pictures` their kinds in the place of their bytes."""
    return [[_output(output, pictures) for output in cell.get("outputs", ())] for cell in notebook.cells]


def _output(output: Any, pictures: bool) -> dict[str, Any]:
    if "text" in output:
        return {"text": output["text"]}
    data = output["data"]
    return {kind: value if pictures or not kind.startswith("image/") else kind for kind, value in data.items()}
