"""The directive ``results``: a table from a CSV file that a benchmark wrote, or some of its columns."""

import csv
import re
from io import StringIO

from docutils.parsers.rst import directives
from docutils.parsers.rst.directives.tables import CSVTable


class Results(CSVTable):
    """A ``csv-table`` whose cells are plain text, right-aligned, with a header row.

    Its option ``columns`` names the columns to show, separated by commas. A dash that stands alone is shown as an en
    dash, and so not as the bullet of a list.
    """

    option_spec = {
        "file": directives.path,
        "columns": directives.unchanged,
    }

    def get_csv_data(self):
        """Lines of the file that is shown, and its name."""
        lines, source = super().get_csv_data()
        header, *body = csv.reader(StringIO("\n".join(lines)))
        if "columns" in self.options:
            (names,) = csv.reader([self.options["columns"]], skipinitialspace=True)
            places = [header.index(name) for name in names]
            header, body = names, [[row[place] for place in places] for row in body]
        out = StringIO()
        csv.writer(out, lineterminator="\n").writerows([self._text(cell) for cell in row] for row in (header, *body))
        return out.getvalue().splitlines(), source

    @staticmethod
    def _text(cell):
        cell = cell.replace("*", "\\*").replace("`", "\\`")
        return {"-": "\N{EN DASH}", "": "\\ "}.get(cell, re.sub(r"^-(?=\s)", "\N{EN DASH}", cell))

    def run(self):
        """The table, with a class for its style."""
        self.options["header-rows"] = 1
        nodes = super().run()
        nodes[0]["classes"].append("numbers")
        return nodes
