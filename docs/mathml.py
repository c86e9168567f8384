"""A Sphinx extension that writes formulas as MathML, with a mathematical font beside the pages.

Browsers show MathML without a script, so no page loads anything from another site. Without a font that knows how large
braces, roots and sums are built, they show it badly, and many computers have none. The font, STIX Two Math, is part of
the package ziamath. Its glyphs for text and for alphabets that no formula uses are left out.
"""

from __future__ import annotations

import logging
from importlib.resources import files
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from docutils import nodes
from fontTools import subset
from latex2mathml.converter import convert

FONT = "stix-two-math.woff"
# Letters and punctuation, Greek, arrows and operators, brackets, and the italic letters that stand for variables.
_CHARACTERS = [*range(0x20, 0x400), *range(0x2000, 0x2400), *range(0x27C0, 0x2A00), *range(0x1D400, 0x1D7CC)]
_ELEMENTS = "{http://www.w3.org/1998/Math/MathML}"


def setup(app: Any) -> dict[str, bool]:
    """Register the renderer; ``html_math_renderer`` in conf.py chooses it."""
    app.add_html_math_renderer("mathml", (_write_inline, None), (_write_block, None))
    app.connect("build-finished", _write_font)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def mathml(formula: str, display: str) -> str:
    """Return the MathML of a formula in LaTeX, with ``display`` "inline" or "block"."""
    tree = ElementTree.fromstring(convert(formula, display=display))
    for element in tree.iter():
        _improve(element, limits_below=display == "block")
    ElementTree.register_namespace("", _ELEMENTS[1:-1])
    return ElementTree.tostring(tree, encoding="unicode")


def _improve(element: ElementTree.Element, *, limits_below: bool) -> None:
    """Remove space around bars and large brackets, and write what min and max range over below them."""
    name = element.tag.removeprefix(_ELEMENTS)
    if name == "mo" and (element.text == "|" or "minsize" in element.attrib):
        element.set("lspace", "0")
        element.set("rspace", "0")
    elif name == "msub" and limits_below and element[0].text in ("min", "max"):
        element.tag = f"{_ELEMENTS}munder"


def _write_inline(writer: Any, node: nodes.Element) -> None:
    writer.body.append(mathml(node.astext(), "inline"))
    raise nodes.SkipNode


def _write_block(writer: Any, node: nodes.Element) -> None:
    writer.body.append(writer.starttag(node, "div", CLASS="math"))
    writer.body.append(mathml(node.astext(), "block"))
    writer.body.append("</div>\n")
    raise nodes.SkipNode


def _write_font(app: Any, exception: Exception | None) -> None:
    path = Path(app.outdir) / "_static" / FONT
    if exception is not None or app.builder.format != "html" or path.is_file():
        return
    logging.getLogger("fontTools").setLevel(logging.WARNING)  # it lists every glyph
    options = subset.Options(flavor="woff", notdef_outline=True)
    font = subset.load_font(str(files("ziamath") / "fonts" / "STIXTwoMath-Regular.ttf"), options)
    chosen = subset.Subsetter(options)
    chosen.populate(unicodes=_CHARACTERS)
    chosen.subset(font)
    subset.save_font(font, str(path), options)
