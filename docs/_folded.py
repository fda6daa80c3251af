"""The directive ``folded``: details that a page shows when a reader asks for them."""

import html

from docutils import nodes
from sphinx.util.docutils import SphinxDirective


class Folded(SphinxDirective):
    """What is indented below, behind a line of text that opens it; other formats than HTML show it open."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True

    def run(self):
        """The opening tag with its line, the content, and the closing tag."""
        summary = html.escape(self.arguments[0])
        return [
            nodes.raw("", f'<details class="folded"><summary>{summary}</summary>', format="html"),
            *self.parse_content_to_nodes(),
            nodes.raw("", "</details>", format="html"),
        ]
