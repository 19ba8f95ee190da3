"""Loading kernels: files, modules and registered names, the hash of what was compiled, and nothing left behind."""

import sys
from pathlib import Path

import pytest

from tessbed.kernels.custom import loading
from tessbed.kernels.custom.loading import load_kernel, parse_reference
from tessbed.kernels.custom.source_tree import kernel_hash, tree_of
from tessbed.kernels.errors import ContractError

COPY = """
import tessbed

@tessbed.kernel(outputs=["dst"], api=1)
def copy(w, src, dst):
    for box in w.own(dst):
        yield w.band(src[box], dst[box], same)

def same(source, target):
    target[...] = source
"""


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_a_file_is_no_module_of_the_same_name(tmp_path):
    """`copy.py` is loaded beside the standard library's module of that name, which stays what it was."""
    before = sys.modules.get("copy")
    write(tmp_path, "copy.py", COPY)
    kernel = load_kernel("copy.py:copy", tmp_path)
    assert kernel.name == "copy"
    assert sys.modules.get("copy") is before
    assert load_kernel(f"{tmp_path}/copy.py:copy") is kernel


def test_modules_of_the_folder_are_part_of_the_kernel(tmp_path):
    """What a kernel imports from its folder is compiled with it, recorded, hashed, and forgotten as a module."""
    write(tmp_path, "mine.py", "from helpers.sizes import ROWS\nimport numpy\n" + COPY)
    write(tmp_path, "helpers/__init__.py", "")
    write(tmp_path, "helpers/sizes.py", "ROWS = 4\n")
    write(tmp_path, "unused.py", "1 / 0\n")
    kernel = load_kernel("mine.py:copy", tmp_path)
    assert [name for name, _ in tree_of(kernel).files] == ["helpers/__init__.py", "helpers/sizes.py", "mine.py"]
    assert "helpers" not in sys.modules
    first = kernel_hash(kernel)
    write(tmp_path, "helpers/sizes.py", "ROWS = 5 + 0\n")
    assert kernel_hash(load_kernel("mine.py:copy", tmp_path)) != first


def test_the_hash_depends_on_content_not_on_the_place(tmp_path):
    """The same source in another folder has the same hash; two kernels of one file share it."""
    for folder in ("one", "other"):
        write(tmp_path, f"{folder}/k.py", COPY + COPY.replace("def copy", "def second"))
    one, other = (load_kernel(f"{folder}/k.py:copy", tmp_path) for folder in ("one", "other"))
    assert kernel_hash(one) == kernel_hash(other)
    assert kernel_hash(load_kernel("one/k.py:second", tmp_path)) == kernel_hash(one)


def test_two_folders_have_helpers_of_one_name(tmp_path):
    """Each kernel gets the helper of its own folder."""
    for folder in ("one", "other"):
        text = COPY.replace('outputs=["dst"]', "outputs=OUTPUTS")
        write(tmp_path, f"{folder}/k.py", f"from names import OUTPUTS\n{text}")
    write(tmp_path, "one/names.py", 'OUTPUTS = ["dst"]\n')
    write(tmp_path, "other/names.py", 'OUTPUTS = {"dst": "uint8[7]"}\n')
    assert load_kernel("one/k.py:copy", tmp_path).outputs[0].text == ""
    assert load_kernel("other/k.py:copy", tmp_path).outputs[0].text == "uint8[7]"


def test_a_module_is_imported(tmp_path, monkeypatch):
    """`package.module:name` is imported in the usual way; what it imports from its package is part of it."""
    write(tmp_path, "mypack/__init__.py", "")
    write(tmp_path, "mypack/sizes.py", "ROWS = 4\n")
    write(tmp_path, "mypack/sub/__init__.py", "")
    write(tmp_path, "mypack/sub/kernels.py", "from ..sizes import ROWS\n" + COPY)
    monkeypatch.syspath_prepend(tmp_path)
    kernel = load_kernel("mypack.sub.kernels:copy")
    names = [name for name, _ in tree_of(kernel).files]
    assert names == ["mypack/__init__.py", "mypack/sizes.py", "mypack/sub/__init__.py", "mypack/sub/kernels.py"]


class Point:
    """An entry point of an installed package."""

    name, module, attr = "fast-copy", "registered_kernels", "copy"


def test_a_registered_name(tmp_path, monkeypatch):
    """An entry point of the group tessbed.kernels is a name; listing names loads nothing."""
    write(tmp_path, "registered_kernels.py", COPY)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [Point] if group == "tessbed.kernels" else [])
    assert loading.registered_names() == ["fast-copy"]
    assert "registered_kernels" not in sys.modules
    assert load_kernel("fast-copy").name == "copy"
    with pytest.raises(ContractError, match="did you mean fast-copy"):
        load_kernel("fast-copi")


REFERENCES = {
    "a.py:copy": ("copy", "a.py", ""),
    "dir/a.py:copy": ("copy", "dir/a.py", ""),
    "pack.mod:copy": ("copy", None, "pack.mod"),
    "copy": None,
    "a.py": None,
    "a.py:": None,
    "a.py:not a name": None,
    "two words:copy": None,
}


@pytest.mark.parametrize("text", REFERENCES)
def test_forms_of_references(text):
    """A reference is told by its form alone."""
    found, wanted = parse_reference(text, Path("folder")), REFERENCES[text]
    if found is None:
        assert wanted is None
    else:
        file = None if found.file is None else found.file.relative_to("folder").as_posix()
        assert (found.name, file, found.module) == wanted


BROKEN = {
    "no file": ("none.py:copy", "does not exist"),
    "no name": ("k.py:copi", "its kernels are copy; did you mean copy"),
    "no kernel": ("k.py:same", "is no kernel"),
    "syntax": ("syntax.py:copy", r"fails as it is loaded, at .*syntax.py:2: SyntaxError"),
    "exception": ("raises.py:copy", r"at .*raises.py:2: ZeroDivisionError"),
    "exit": ("leaves.py:copy", r"SystemExit"),
    "declaration": ("wrong.py:copy", r"at .*wrong.py:2: kernel copy: got no outputs"),
    "no module": ("no_such_package.mod:copy", "there is no module no_such_package"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_what_can_not_be_loaded_is_refused(tmp_path, case):
    """A refusal names the file and the line; nothing of the module stays."""
    write(tmp_path, "k.py", COPY)
    write(tmp_path, "syntax.py", "\ndef f(:\n")
    write(tmp_path, "raises.py", "\n1 / 0\n")
    write(tmp_path, "leaves.py", "import sys\nsys.exit(3)\n")
    write(tmp_path, "wrong.py", "import tessbed\n@tessbed.kernel(api=1)\ndef copy(w, dst):\n    yield\n")
    before = set(sys.modules)
    reference, text = BROKEN[case]
    with pytest.raises(ContractError, match=text):
        load_kernel(reference, tmp_path)
    assert {name for name in set(sys.modules) - before if name.startswith("tessbed_kernel_")} <= {
        name for name in sys.modules if name.endswith("_k")
    }
