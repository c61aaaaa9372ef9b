"""The looks of the report's page: on screen in light and dark, and on paper."""

from inspect_clbench.analysis.drawing.theme import DARK, INK, LINE, PAPER, SOFT

PAGE_STYLE = f"""
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
figure svg {{ display: block; height: auto; max-width: 100%; min-width: 44rem; }}
table {{ border-collapse: collapse; }}
th, td {{ padding: .35rem .8rem; text-align: left; vertical-align: bottom; }}
th {{ background: var(--head); border-bottom: 2px solid var(--line); }}
td {{ border-bottom: 1px solid var(--line); overflow-wrap: break-word; max-width: 48rem; }}
.num {{ text-align: right; font-variant-numeric: tabular-nums; }}
td.num {{ white-space: pre; }}
.notes {{ padding-left: 1.2rem; }}
.how thead:has(th:empty) {{ display: none; }}
.how td, .samples td {{ vertical-align: top; }}
footer {{ border-top: 1px solid var(--line); margin-top: 3rem; padding-top: .8rem; }}
@media print {{
  @page {{ size: A4 landscape; margin: 12mm; }}
  body {{ font-size: 10pt; margin: 0; max-width: none; padding: 0; }}
  h2, h3, figcaption, .reading {{ break-after: avoid; break-inside: avoid; }}
  figure {{ break-inside: avoid; overflow: visible; }}
  figure svg {{ max-height: 138mm; min-width: 0; width: auto; }}
  tr, .warnings {{ break-inside: avoid; }}
  th, .warnings {{ print-color-adjust: exact; -webkit-print-color-adjust: exact; }}
  table {{ font-size: 8.5pt; }}
  th, td {{ padding: .15rem .4rem; }}
  a {{ color: inherit; text-decoration: none; }}
}}
"""
