"""A comparison as one self-contained HTML page, which can be mailed."""

import base64
from html import escape

from . import report

_STYLE = """
body { margin: 0 auto; max-width: 60rem; padding: 1rem; font: 16px/1.5 system-ui, sans-serif;
       color: #1a1a1a; background: #fff; }
h1 { font-size: 1.4rem; line-height: 1.3; } h2 { font-size: 1.1rem; margin-top: 2rem; }
.verdict { font-size: 1.1rem; border-left: 4px solid #1f77b4; padding-left: 0.8rem; }
.wide { overflow-x: auto; } img { width: 100%; max-width: 46rem; height: auto; }
table { border-collapse: collapse; font-size: 0.85rem; font-variant-numeric: tabular-nums; }
th, td { padding: 0.3rem 0.6rem; border-bottom: 1px solid #ddd; text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; position: sticky; left: 0; background: #fff; white-space: normal; }
tr.best td { font-weight: 600; }
li { margin: 0.2rem 0; overflow-wrap: anywhere; }
pre { background: #f5f5f5; padding: 0.8rem; font-size: 0.8rem; white-space: pre-wrap; overflow-wrap: anywhere; }
"""


def page(comparison, png=None):
    """The page as HTML in UTF-8, with or without a figure."""
    table = comparison.table
    head, *rows = report.cells(comparison)
    chosen = comparison.chosen.name
    body = "\n".join(_row("td", row, "best" if row[0] == chosen else "") for row in rows)
    picture = "" if png is None else (
        f'<p><img alt="Errors compared with {escape(comparison.reference.name)} with default parameters" '
        f'src="data:image/png;base64,{base64.b64encode(png).decode()}"></p>'
    )  # fmt: skip
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light">
<title>{escape(table.target)} of {escape(table.name)}</title>
<style>{_STYLE}</style>
</head>
<body>
<h1>{escape(report.title(comparison))}</h1>
<div class="verdict">{_each("p", report.verdict(comparison))}</div>
{picture}
<h2>Learners</h2>
<div class="wide"><table>
<thead>{_row("th", head)}</thead>
<tbody>
{body}
</tbody></table></div>
<p>In bold: {escape(chosen)}, the learner of this package that the Python code below uses.</p>
<ul>{_each("li", report.how(comparison))}</ul>
<h2>Columns</h2>
<ul>{_each("li", map(str.strip, table.notes))}</ul>
<h2>In Python</h2>
<pre>{escape(report.snippet(comparison))}</pre>
</body>
</html>
"""


def _row(tag, cells, name=""):
    return f'<tr class="{name}">{_each(tag, cells)}</tr>'


def _each(tag, texts):
    return "".join(f"<{tag}>{escape(text)}</{tag}>" for text in texts)
