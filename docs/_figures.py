"""A scraper for sphinx-gallery that makes an empty figure an error."""

from sphinx.errors import ExtensionError
from sphinx_gallery.scrapers import matplotlib_scraper


def matplotlib_figures(block, block_vars, gallery_conf):
    """Save the figures of a block as matplotlib's scraper does; raise ExtensionError if one of them shows nothing."""
    import matplotlib.pyplot as plt

    for number in plt.get_fignums():
        shown = [axes for axes in plt.figure(number).axes if axes.axison]
        if not shown or not all(axes.has_data() for axes in shown):
            raise ExtensionError(f"{block_vars['src_file']} draws a figure that shows nothing.")
    return matplotlib_scraper(block, block_vars, gallery_conf)
