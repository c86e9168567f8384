"""A Sphinx extension: pages from outside of docs/, docstrings as plain text, larger text in the gallery's figures.

**Pages.** On GitHub, a page links to ``../results/README.md``, but Sphinx reads only docs/. Before it does, this
extension copies the files in ``SHOWN`` to docs/project/, with their relative paths, and replaces ``](../`` by
``](project/``. A folder that is linked becomes a page that shows its files. Links between copied files need no change;
links back to docs/ go up one level more.

**Docstrings.** In reStructuredText, an indented formula is a quotation that loses its line breaks, ``n_iter_`` outside
of quotes is a link, and ``|x|`` is a substitution. Formulas become literal blocks, and such marks are escaped. Fields
of named tuples whose only description is "Alias for field number 0" are left out.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

DOCS = Path(__file__).parent
ROOT = DOCS.parent
SHOWN = (
    "results/README.md",
    "results/*/tables.md",
    "results/*/*.png",
    "benchmarks/README.md",
    "experiments/*.toml",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
)
FOLDERS = ("experiments",)
GENERATED = ("project", "auto_examples", "api")  # folders of docs/ whose pages come from elsewhere
BELOW = {"results/README.md": "*/tables.md"}
_LINK = re.compile(r"(?<=\]\()([^)\s]+)(?=\))")
# Matches quoted text, which stays as it is, and what is escaped: bars, and names that end in an underscore, unless they
# begin an entry.
_MARKS = re.compile(r"``[^`]+``|`[^`]+`|\\.|\w+_(?![\w`])(?! :)|\|")


def setup(app: Any) -> dict[str, bool]:
    """Register the handlers; that of docstrings runs before napoleon, which changes the indentation of sections."""
    app.connect("builder-inited", lambda app: copy_shown_files(ROOT, Path(app.srcdir) / "project"))
    app.connect("source-read", _redirect_links)
    app.connect("autodoc-process-docstring", _make_plain, priority=400)
    app.connect("autodoc-skip-member", _skip_documented_elsewhere)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def copy_shown_files(root: Path, folder: Path) -> None:
    """Copy new and changed files to a folder, and remove files that are no longer shown."""
    pages: dict[str, str | bytes] = {f"{name}/index.md": _listing(root / name) for name in FOLDERS}
    for path in sorted(path for pattern in SHOWN for path in root.glob(pattern)):
        name = path.relative_to(root).as_posix()
        pages[name] = _page(path, BELOW.get(name)) if path.suffix == ".md" else path.read_bytes()
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.relative_to(folder).as_posix() not in pages:
            path.unlink()
    for name, content in pages.items():
        _write_if_changed(folder / name, content)


def _page(path: Path, below: str | None) -> str:
    """Return the text of a copied page, with a table of contents for the pages below it."""
    text = with_links_from_docs(path.read_text("utf-8"))
    if below is None:
        return text
    names = "\n".join(sorted(page.relative_to(path.parent).as_posix() for page in path.parent.glob(below)))
    return f"{text}\n```{{toctree}}\n:hidden:\n\n{names}\n```\n"


def with_links_from_docs(text: str) -> str:
    """Return the text of a copied page: links to docs/ go up one level more, links to folders lead to their pages."""
    return _LINK.sub(lambda link: _with_page_of_folder(re.sub(r"^((?:\.\./)*)docs/", r"../\1", link[0])), text)


def with_links_to_copies(text: str, above: str = "") -> str:
    """Return the text of a page in docs/: links to other files lead to the copies, links to examples to the gallery.

    ``above`` is the way up to docs/ if the page is in a folder below it.
    """
    return _LINK.sub(lambda link: _link_to_copy(link[0], above), text)


def _link_to_copy(link: str, above: str) -> str:
    if not link.startswith(f"{above}../"):
        return link
    redirected = re.sub(r"^\.\./", "project/", _in_gallery(link.removeprefix(above)))
    return above + _with_page_of_folder(redirected)


def _in_gallery(link: str) -> str:
    return re.sub(r"^\.\./examples(?:/(\w+)\.py)?$", lambda found: f"auto_examples/{found[1] or 'index'}.rst", link)


def _with_page_of_folder(link: str) -> str:
    return f"{link}/index.md" if link.rstrip("/").rpartition("/")[2] in FOLDERS else link


def _redirect_links(app: Any, page: str, source: list[str]) -> None:
    if page.partition("/")[0] not in GENERATED:
        source[0] = with_links_to_copies(source[0], "../" * page.count("/"))


def _listing(folder: Path) -> str:
    """Return a page with the content of all files in a folder."""
    files = sorted(path for path in folder.iterdir() if path.is_file())
    parts = [f"## {path.name}\n\n```{path.suffix[1:]}\n{path.read_text('utf-8')}```" for path in files]
    return "\n\n".join([f"# {folder.name.capitalize()}", *parts]) + "\n"


def _write_if_changed(path: Path, content: str | bytes) -> None:
    """Write a file only if its content changes, because Sphinx reads pages with a new modification time again."""
    new = content.encode() if isinstance(content, str) else content
    if path.is_file() and path.read_bytes() == new:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(new)


def formulas_set_apart(lines: list[str]) -> list[str]:
    """Return the lines before the first section, with ``::`` before every indented block."""
    out: list[str] = []
    paragraph = ""
    for line, before in zip(lines, ["", *lines], strict=False):
        begins = line.startswith("    ") and not before.strip() and paragraph
        out += ["::", ""] if begins and not paragraph.endswith("::") else []
        if line.strip():
            paragraph = "" if line.startswith(" ") else line
        out.append(line if paragraph == "" else without_marks(line))
    return out


def without_marks(line: str) -> str:
    """Return a line with underscores and bars escaped, and without a single letter and full stop that starts a list."""
    line = re.sub(r"^(\s*\w)\.$", r"\1\\.", line)
    return _MARKS.sub(lambda found: _escaped(found[0]), line)


def _escaped(text: str) -> str:
    if text == "|":
        return r"\|"
    return text[:-1] + r"\_" if text.endswith("_") and not text.startswith(("`", "\\")) else text


def _make_plain(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    underlines = [index for index, line in enumerate(lines) if line and set(line) == {"-"}]
    first = underlines[0] - 1 if underlines else len(lines)
    last = next((index - 1 for index in underlines if lines[index - 1] in ("Examples", "References")), len(lines))
    lines[:] = [
        *formulas_set_apart(lines[:first]),
        *(without_marks(line) for line in lines[first:last]),
        *lines[last:],
    ]


def _skip_documented_elsewhere(app: Any, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Skip fields without a description, fitted attributes, which are listed under Attributes, and ``set_fit_request``.

    scikit-learn's description of the latter refers to pages of its own.
    """
    if name == "set_fit_request":
        return True
    alias = (getattr(obj, "__doc__", None) or "").startswith("Alias for field number")
    return True if alias or (isinstance(obj, property) and name.endswith("_")) else None


def larger_text(gallery_conf: dict[str, Any], example: str) -> None:
    """Make the text of figures legible in thumbnails; Sphinx-Gallery calls this before every example."""
    plt.rcParams.update({"font.size": 13, "lines.linewidth": 2.0, "lines.markersize": 7.0})
