"""HTML for tables and pages: on screen in light and dark, and on paper. Nothing in it runs."""

import html
from collections.abc import Iterable

from inspect_clbench.output.tables import Table
from inspect_clbench.text import one_line

# Of text and lines, in light and in dark; each has a contrast of 4.5 on its paper.
INK, SOFT, LINE, PAPER = "#24292f", "#59636e", "#d8dee4", "#ffffff"
DARK = {INK: "#e6edf3", SOFT: "#a5b0bb", LINE: "#3a424c", PAPER: "#11151a"}

# Nothing runs in a page and nothing is fetched for it.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"

STYLE = f"""
:root {{
  color-scheme: light dark;
  --ink: {INK}; --soft: {SOFT}; --line: {LINE}; --paper: {PAPER};
  --head: #f3f5f8; --warn: #fff4d6; --edge: #b37a00; --link: #1f62b8;
}}
@media screen and (prefers-color-scheme: dark) {{
  :root {{
    --ink: {DARK[INK]}; --soft: {DARK[SOFT]}; --line: {DARK[LINE]}; --paper: {DARK[PAPER]};
    --head: #1b2027; --warn: #2d2511; --edge: #d9a520; --link: #79b0f5;
  }}
}}
body {{
  background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, sans-serif;
  max-width: 76rem; margin: 2rem auto; padding: 0 1.2rem;
}}
h1 {{ font-size: 1.7rem; line-height: 1.25; margin: 0; overflow-wrap: anywhere; }}
h2 {{ font-size: 1.25rem; margin: 2.6rem 0 .8rem; }}
h3 {{ font-size: 1rem; margin: 1.6rem 0 .4rem; overflow-wrap: anywhere; }}
a {{ color: var(--link); }}
code {{ font-size: .92em; }}
.facts, .reading, .notes, footer {{ color: var(--soft); }}
.facts {{ margin: .3rem 0 0; overflow-wrap: anywhere; }}
.reading {{ margin: 0 0 .6rem; }}
.warnings {{
  background: var(--warn); border-left: 4px solid var(--edge); margin: 1.4rem 0;
  padding: .7rem 1rem; overflow-wrap: anywhere;
}}
.warnings h2 {{ font-size: 1rem; margin: 0 0 .3rem; }}
.warnings ul {{ margin: 0; padding-left: 1.1rem; }}
figure {{ margin: 0 0 2rem; overflow-x: auto; }}
figcaption {{ font-weight: 600; margin-bottom: .5rem; }}
figure svg {{ display: block; height: auto; max-width: 100%; }}
figure svg.narrow {{ display: none; }}
@media screen and (max-width: 50rem) {{
  figure svg.wide {{ display: none; }}
  figure svg.narrow {{ display: block; max-width: 30rem; width: 100%; }}
}}
table {{ border-collapse: collapse; }}
th, td {{ padding: .35rem .8rem; text-align: left; vertical-align: baseline; }}
th {{ vertical-align: bottom; background: var(--head); border-bottom: 2px solid var(--line); }}
td {{ border-bottom: 1px solid var(--line); overflow-wrap: break-word; max-width: 48rem; }}
.num {{ text-align: right; font-variant-numeric: tabular-nums; width: 1px; }}
td:first-child {{ min-width: 8rem; }}
.published {{ color: var(--soft); }}
:not(.published) + .published td {{ border-top: 2px solid var(--soft); }}
td.num {{ white-space: pre; }}
.notes {{ padding-left: 1.2rem; }}
.how thead:has(th:empty) {{ display: none; }}
footer {{ border-top: 1px solid var(--line); margin-top: 3rem; padding-top: .8rem; }}
@media print {{
  @page {{ size: A4 landscape; margin: 12mm; }}
  body {{ font-size: 10pt; margin: 0; max-width: none; padding: 0; }}
  h2, h3, figcaption, .reading {{ break-after: avoid; break-inside: avoid; }}
  figure {{ break-inside: avoid; overflow: visible; }}
  figure svg {{ max-height: 138mm; width: auto; }}
  tr, .warnings {{ break-inside: avoid; }}
  th, .warnings {{ print-color-adjust: exact; -webkit-print-color-adjust: exact; }}
  table {{ font-size: 8.5pt; }}
  th, td {{ padding: .15rem .4rem; }}
  a {{ color: inherit; text-decoration: none; }}
}}
"""


def html_table(table: Table) -> str:
    """The table as an HTML fragment."""

    def cells(tag: str, texts: Iterable[str]) -> str:
        written = ""
        for index, text in enumerate(texts):
            lines = "\n".join(escaped(line) for line in text.split("\n"))
            written += f"<{tag}{'' if index < table.left else ' class=num'}>{lines}</{tag}>"
        return written

    head = cells("th", table.columns)
    rows = [
        ("<tr class=published>" if row[0].tone == "published" else "<tr>")
        + f"{cells('td', (c.text for c in row))}</tr>"
        for row in table.rows
    ]
    body = "\n".join(rows)
    notes = "".join(f"<li>{escaped(str(note))}</li>" for note in table.notes)
    return (
        f"<figure><figcaption>{escaped(table.title)}</figcaption>\n<table>\n"
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>\n"
        + (f"<ul class=notes>{notes}</ul>\n" if notes else "")
        + "</figure>"
    )


def html_page(
    title: str, body: str, *, policy: str = _POLICY, style: str = STYLE, script: str = ""
) -> str:
    """A whole page that needs nothing from elsewhere; the title is text, the body HTML."""
    module = f"<script type=module>{script}</script>\n" if script else ""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escaped(title)}</title>\n<style>{style}</style>\n{module}</head>\n"
        f"<body>\n{body}\n</body>\n</html>\n"
    )


def escaped(text: str) -> str:
    """Text from outside on one line of HTML."""
    return html.escape(one_line(text))
