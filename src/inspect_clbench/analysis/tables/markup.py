"""Tables for LaTeX and HTML."""

import html
from collections.abc import Sequence
from typing import TYPE_CHECKING

from inspect_clbench.analysis.text import one_line

if TYPE_CHECKING:
    from inspect_clbench.analysis.tables import Table

_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "±": r"$\pm$", "–": "--", "−": "$-$", "·": r"$\cdot$", "…": r"\ldots{}", "≥": r"$\geq$",
    "†": r"$\dagger$", "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}",
    '"': r"\textquotedbl{}", "[": "{[}", "]": "{]}",
}  # fmt: skip

_STYLE = """
:root { color-scheme: light dark; --line: #d0d4da; --soft: #5b6470; --head: #f3f5f8; }
@media (prefers-color-scheme: dark) {
  :root { --line: #3a4049; --soft: #a3abb6; --head: #20242b; }
}
body { font: 15px/1.5 system-ui, sans-serif; max-width: 75rem; margin: 2rem auto; padding: 0 1rem; }
figure { margin: 0 0 2.5rem; overflow-x: auto; }
figcaption { font-weight: 600; margin-bottom: .6rem; }
table { border-collapse: collapse; }
th, td { padding: .35rem .8rem; text-align: left; vertical-align: bottom; }
th { background: var(--head); border-bottom: 2px solid var(--line); }
td { border-bottom: 1px solid var(--line); }
.num { text-align: right; font-variant-numeric: tabular-nums; white-space: pre-line; }
.notes { color: var(--soft); padding-left: 1.2rem; }
"""


def latex_table(table: "Table") -> str:
    """A table in LaTeX, to be used with the package booktabs."""
    spec = "l" * table.left + "r" * (len(table.columns) - table.left)
    lines = [
        f"% {one_line(table.title)}",
        rf"\begin{{tabular}}{{{spec}}}",
        r"\toprule",
        " & ".join(_latex_text(column) for column in table.columns) + r" \\",
        r"\midrule",
        *(" & ".join(_latex_text(cell.text) for cell in row) + r" \\" for row in table.rows),
        r"\bottomrule",
        r"\end{tabular}",
        *(f"% {one_line(note)}" for note in table.notes),
    ]
    return "\n".join(lines) + "\n"


def _latex_text(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in one_line(text))


def html_table(table: "Table") -> str:
    """The table as an HTML fragment."""

    def cells(tag: str, texts: Sequence[str]) -> str:
        return "".join(
            f"<{tag}{'' if i < table.left else ' class=num'}>{_html_text(text)}</{tag}>"
            for i, text in enumerate(texts)
        )

    head = cells("th", table.columns)
    body = "\n".join(f"<tr>{cells('td', [c.text for c in row])}</tr>" for row in table.rows)
    notes = "".join(f"<li>{html.escape(one_line(note))}</li>" for note in table.notes)
    return (
        f"<figure><figcaption>{html.escape(one_line(table.title))}</figcaption>\n<table>\n"
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>\n"
        + (f"<ul class=notes>{notes}</ul>\n" if notes else "")
        + "</figure>"
    )


def _html_text(text: str) -> str:
    return "\n".join(html.escape(one_line(line)) for line in text.split("\n"))


def html_page(title: str, body: str) -> str:
    """A whole page that needs nothing from elsewhere.

    Args:
        title: The page's title, as plain text.
        body: What stands in it, as HTML.
    """
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(one_line(title))}</title>\n<style>{_STYLE}</style>\n</head>\n"
        f"<body>\n{body}\n</body>\n</html>\n"
    )
