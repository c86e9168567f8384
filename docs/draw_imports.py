"""Write the import closures of FSASL and KernelFSASL into ARCHITECTURE.md: which modules of which rooms a fit needs.

Run it from anywhere after a change of imports: ``python docs/draw_imports.py``. The graph of imports is that of grimp,
which import-linter brings. It is read from the source, so imports within functions are included.
"""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

import grimp

import ufselect

PAGE = Path(__file__).parents[1] / "ARCHITECTURE.md"
METHODS = ("FSASL", "KernelFSASL")
ROOMS = ("selectors", "base", "graphs", "solvers", "columns", "_utils")  # a room imports only rooms to its right
_PART = re.compile(r"(?<=<!-- begin imports -->\n).*?(?=<!-- end imports -->)", flags=re.DOTALL)


def main() -> None:
    """Replace the part between the marks."""
    PAGE.write_text(_PART.sub(lambda _: drawn(), PAGE.read_text("utf-8")), "utf-8")


def written() -> str:
    """Return the part of ARCHITECTURE.md between the marks."""
    return _PART.search(PAGE.read_text("utf-8"))[0]


def drawn() -> str:
    """Return the closures as text: a room and the rooms it imports, then its modules and who needs them."""
    graph = grimp.build_graph("ufselect", exclude_type_checking_imports=True, cache_dir=None)
    start = {method: getattr(ufselect, method).__module__ for method in METHODS}
    needed = {method: {module, *graph.find_upstream_modules(module)} for method, module in start.items()}
    modules = set().union(*needed.values())
    by_room = defaultdict(list)
    for module in sorted(modules):
        by_room[room_of(module)].append(module)
    lines = []
    for room in sorted(by_room, key=_place):
        imported = {
            room_of(other) for module in by_room[room] for other in graph.find_modules_directly_imported_by(module)
        }
        lines.append(f"{room}{_arrow(imported - {room})}")
        for users, names in _by_users(by_room[room], needed).items():
            lines += _wrapped(f"    {users}: ", [_within_room(module) for module in names])
    count = ", ".join(f"{method} {len(needed[method])}" for method in METHODS)
    return (
        f"```text\nmodules: {count}, both {len(set.intersection(*needed.values()))}\n\n" + "\n".join(lines) + "\n```\n"
    )


def room_of(module: str) -> str:
    """Return the folder or module right below the package."""
    return module.split(".")[1] if "." in module else "ufselect"


def _within_room(module: str) -> str:
    return module.split(".", 2)[2] if module.count(".") > 1 else "__init__"


def _place(room: str) -> tuple[int, str]:
    return (ROOMS.index(room) if room in ROOMS else -1, room)


def _arrow(imported: set[str]) -> str:
    return f"  →  {', '.join(sorted(imported, key=_place))}" if imported else ""


def _by_users(modules: list[str], needed: dict[str, set[str]]) -> dict[str, list[str]]:
    """Return the modules that both methods need, and those that only one of them needs."""
    groups: dict[str, list[str]] = {users: [] for users in ("both", *METHODS)}
    for module in modules:
        users = [method for method in METHODS if module in needed[method]]
        groups["both" if len(users) == len(METHODS) else users[0]].append(module)
    return {users: names for users, names in groups.items() if names}


def _wrapped(head: str, names: list[str], width: int = 110) -> list[str]:
    """Return a list of names in lines of limited length."""
    lines = [head]
    for index, name in enumerate(names):
        part = name + ", " * (index + 1 < len(names))
        if len(lines[-1]) + len(part) > width:
            lines.append(" " * len(head))
        lines[-1] += part
    return [line.rstrip() for line in lines]


if __name__ == "__main__":
    main()
