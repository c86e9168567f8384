"""A Sphinx extension that adds files outside of docs/ to the documentation, and redirects links to them.

On GitHub, a page links to ``../results/README.md``, but Sphinx reads only docs/. Before it does, this extension
copies the files in ``SHOWN`` to docs/project/, with their relative paths, and replaces ``](../`` by ``](project/``. A
folder that is linked becomes a page that shows its files. Links between copied files need no change; links back to
docs/ go up one level more.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

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


def setup(app: Any) -> dict[str, bool]:
    """Register the handlers."""
    app.connect("builder-inited", lambda app: copy_shown_files(ROOT, Path(app.srcdir) / "project"))
    app.connect("source-read", _redirect_links)
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
