"""For sphinx-gallery: the order of examples, their style, and a scraper that makes an empty figure an error."""

from sphinx.errors import ExtensionError
from sphinx_gallery.scrapers import matplotlib_scraper

ORDER = (
    "raw_data",
    "eta_range",
    "progressive_validation",
    "column_transformer",
    "frame_to_names",
    "out_of_core_text",
    "changing_unit",
    "half_lives",
    "target_units",
    "imbalanced",
    "no_learning_rate",
    "experts",
    "regret",
)


def place(filename):
    """Key by which the examples of the gallery are sorted; those not named above come last."""
    name = filename.removeprefix("plot_").removesuffix(".py")
    return ORDER.index(name) if name in ORDER else len(ORDER)


def style(gallery_conf, name):
    """Letters of figures that can still be read where a figure is as wide as a phone, or a thumbnail."""
    import matplotlib as mpl

    mpl.rcParams.update({"font.size": 13.0, "lines.linewidth": 2.0})


def matplotlib_figures(block, block_vars, gallery_conf):
    """Save the figures of a block as matplotlib's scraper does; raise ExtensionError if one of them shows nothing."""
    import matplotlib.pyplot as plt

    for number in plt.get_fignums():
        shown = [axes for axes in plt.figure(number).axes if axes.axison]
        if not shown or not all(axes.has_data() for axes in shown):
            raise ExtensionError(f"{block_vars['src_file']} draws a figure that shows nothing.")
    return matplotlib_scraper(block, block_vars, gallery_conf)
