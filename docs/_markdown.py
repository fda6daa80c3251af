"""The Markdown of CHANGELOG.md and CONTRIBUTING.md as reStructuredText, when a page includes it."""

import re


def to_rst(app, relative_path, parent, content):
    """Translate headings, code in backticks and indented commands of an included Markdown file."""
    if relative_path.suffix != ".md":
        return
    text = re.sub(r"`([^`]+)`", as_rst, content[0])
    for mark, line in (("### ", "~"), ("## ", "-"), ("# ", "=")):
        text = re.sub(
            rf"^{mark}(.+)$", lambda match, line=line: f"{match[1]}\n{line * len(match[1])}", text, flags=re.M
        )
    text = re.sub(r"^\n((?:    .+\n)+)", "\n.. code-block:: bash\n\n\\1", text, flags=re.M)
    content[0] = text


def as_rst(match):
    """Words in backticks as code, or as a link where they name a page."""
    page = re.fullmatch(r"docs/(\w+)\.rst", match[1])
    return f":doc:`{page[1]}`" if page else f"``{match[1]}``"
