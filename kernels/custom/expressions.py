"""Expressions: sizes as people write them, in integers and a kernel's arguments: `rows`, `rows // 2`, `4 * (n + 1)`."""

import ast
from collections.abc import Callable, Mapping
from operator import add, floordiv, mod, mul, sub
from typing import Any

import attrs

from tessbed.kernels.errors import ContractError

OPERATORS: dict[type, Callable[[int, int], int]] = {
    ast.Add: add,
    ast.Sub: sub,
    ast.Mult: mul,
    ast.FloorDiv: floordiv,
    ast.Mod: mod,
}
FUNCTIONS: dict[str, Callable[..., int]] = {"min": min, "max": max}
WANTED = "integers, arguments, + - * // %, min() and max()"


@attrs.frozen
class Expression:
    """A parsed size. `text` is as it was written, `names` the arguments that it needs."""

    text: str
    names: frozenset[str]
    _tree: Any = attrs.field(eq=False, repr=False)

    @classmethod
    def of(cls, written: int | str, where: str) -> "Expression":
        """Parse a size; ContractError at `where` for what is none."""
        text = str(written).strip()
        try:
            tree = ast.parse(text, mode="eval").body
        except (SyntaxError, ValueError):
            tree = None
        names: set[str] = set()
        if isinstance(written, bool) or tree is None or not _plain(tree, names):
            raise ContractError("size_expression", where, f"got {written!r}, wanted {WANTED}")
        return cls(text, frozenset(names), tree)

    @property
    def name(self) -> str | None:
        """The argument that it is, where it is nothing else."""
        return self._tree.id if isinstance(self._tree, ast.Name) else None

    def value(self, arguments: Mapping[str, Any], where: str) -> int:
        """The size with these arguments; ContractError where it can not be had."""
        try:
            found = _value(self._tree, arguments)
        except ZeroDivisionError:
            raise ContractError("size_expression", where, f"{self.text} divides by 0") from None
        if isinstance(found, float):
            raise ContractError("size_expression", where, f"{self.text} is {found}, wanted a whole number")
        return found


def _plain(tree: ast.AST, names: set[str]) -> bool:
    """Whether there is nothing in it but what WANTED says; collects its names."""
    if isinstance(tree, ast.Constant):
        return type(tree.value) is int
    if isinstance(tree, ast.Name):
        names.add(tree.id)
        return True
    if isinstance(tree, ast.BinOp):
        return type(tree.op) in OPERATORS and _plain(tree.left, names) and _plain(tree.right, names)
    if isinstance(tree, ast.UnaryOp):
        return isinstance(tree.op, ast.USub) and _plain(tree.operand, names)
    if not isinstance(tree, ast.Call) or not isinstance(tree.func, ast.Name) or tree.func.id not in FUNCTIONS:
        return False
    return bool(tree.args) and not tree.keywords and all(_plain(argument, names) for argument in tree.args)


def _value(tree: Any, arguments: Mapping[str, Any]) -> Any:
    if isinstance(tree, ast.Constant):
        return tree.value
    if isinstance(tree, ast.Name):
        return arguments[tree.id]
    if isinstance(tree, ast.BinOp):
        return OPERATORS[type(tree.op)](_value(tree.left, arguments), _value(tree.right, arguments))
    if isinstance(tree, ast.UnaryOp):
        return -_value(tree.operand, arguments)
    return FUNCTIONS[tree.func.id](*[_value(argument, arguments) for argument in tree.args])
