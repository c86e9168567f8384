"""Digests of source code: a figure belongs to the code that made it.

A digest covers a module and the local modules that it imports, directly or indirectly. Comments, docstrings,
annotations and the messages of exceptions do not count, so rewording them leaves stored results valid.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import sys
import sysconfig
from collections.abc import Iterator
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

_OURS = __name__.partition(".")[0]
_OUR_FOLDER = Path(__file__).parents[1]
_INSTALLED = {Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib", "purelib", "platlib")}
_IGNORED_FIELDS = {"annotation", "returns", "ctx", "kind", "type_comment", "type_ignores"}


class _Parsed(NamedTuple):
    digest: str
    imports: tuple[tuple[int, str], ...]  # level, as in "from ..a import b", and dotted name


def source_digest(module: str) -> str:
    """Return the SHA-256 of the source of a module and of the local modules that it imports.

    Local are modules of the same package, modules in the same folder unless packages are installed there, and
    ufselect's own.

    Parameters
    ----------
    module : str
        Dotted name. The module is located, not imported.

    Returns
    -------
    str
        64 hexadecimal digits, or an empty string if there is no source file.
    """
    files = local_files(module)
    if not files:
        return ""
    content = "".join(f"{name}:{_parsed(_content(files[name])).digest}\n" for name in sorted(files))
    return hashlib.sha256(content.encode()).hexdigest()


def local_files(module: str) -> dict[str, Path]:
    """Return the files of a module and of the local modules that it imports, by dotted name."""
    root = folder_of(module)
    found: dict[str, Path] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name in found or (path := _file_of(name, module, root)) is None:
            continue
        found[name] = path
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        waiting += [_absolute(level, imported, package) for level, imported in _parsed(_content(path)).imports]
    return found


def folder_of(module: str) -> Path | None:
    """Return the folder from which a module is imported, that of its top-level package; None if it is not found."""
    top = module.partition(".")[0]
    loaded = sys.modules.get(top)
    spec = getattr(loaded, "__spec__", None) or (None if loaded else importlib.util.find_spec(top))
    if spec is None:
        return None
    if spec.submodule_search_locations:
        return Path(next(iter(spec.submodule_search_locations))).parent
    return Path(spec.origin).parent if spec.has_location and spec.origin else None


def _file_of(name: str, module: str, root: Path | None) -> Path | None:
    """Return the file of a module if it is local to ``module``, whose top-level name is found in ``root``."""
    top = name.partition(".")[0]
    if top == _OURS:
        root = _OUR_FOLDER.parent
    elif root is None or (top != module.partition(".")[0] and root.resolve() in _INSTALLED):
        return None
    path = root.joinpath(*name.split("."))
    candidates = path.with_name(f"{path.name}.py"), path / "__init__.py"
    return next((candidate for candidate in candidates if candidate.is_file()), None)


def _absolute(level: int, name: str, package: str) -> str:
    if level == 0:
        return name
    parents = package.split(".")
    base = ".".join(parents[: len(parents) - level + 1])
    return f"{base}.{name}" if name else base


def _content(path: Path) -> bytes:
    """Return the content of a file. Ours is read once: what runs is what was imported when the process started."""
    return _read_once(path) if path.is_relative_to(_OUR_FOLDER) else path.read_bytes()


@cache
def _read_once(path: Path) -> bytes:
    return path.read_bytes()


@lru_cache(maxsize=512)
def _parsed(content: bytes) -> _Parsed:
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError):  # importing it fails, with a better message
        return _Parsed(hashlib.sha256(content).hexdigest(), ())
    digest = hashlib.sha256(_canonical(tree).encode("utf-8", "surrogatepass")).hexdigest()
    return _Parsed(digest, tuple(dict.fromkeys(_imports(tree))))


def _imports(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((0, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            yield node.level, base
            yield from ((node.level, f"{base}.{alias.name}".strip(".")) for alias in node.names)


def _canonical(node: Any) -> str:
    """Return a text that is the same for the same code, in every version of Python (``ast.dump`` is not)."""
    if isinstance(node, list):
        return "[" + ",".join(map(_canonical, node)) + "]"
    if not isinstance(node, ast.AST):
        return repr(node)
    name = type(node).__name__
    if isinstance(node, ast.Raise):
        return name
    fields = []
    for field, value in ast.iter_fields(node):
        content = value[1:] if field == "body" and _has_docstring(node) else value
        if field not in _IGNORED_FIELDS and content is not None and content != []:
            fields.append(f"{field}={_canonical(content)}")
    return f"{name}({','.join(fields)})"


def _has_docstring(node: ast.AST) -> bool:
    if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    return ast.get_docstring(node, clean=False) is not None
