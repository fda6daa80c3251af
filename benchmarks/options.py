"""Options that several scripts share, and files that they read. Errors are reported before anything is measured."""

import argparse
import importlib
from pathlib import Path


def parser_of(description):
    """Return a parser for a script, whose help is the docstring of the script."""
    return argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)


def new_folder(name):
    """Return a folder to write to, which is made at once."""
    folder = Path(name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise argparse.ArgumentTypeError(f"there can be no folder {folder}: {error.strerror}") from None
    return folder


def new_file(name):
    """Return a file to write to, whose folder is made at once."""
    path = Path(name)
    new_folder(path.parent)
    if path.is_dir():
        raise argparse.ArgumentTypeError(f"{path} is a folder, and must be a file")
    return path


def count(word):
    """Return a number of repeats or items: a whole number from 1 on."""
    if not word.isdecimal() or int(word) == 0:
        raise argparse.ArgumentTypeError(f"it must be a whole number from 1 on; got {word}")
    return int(word)


def resource():
    """Return the module that measures and limits what a process takes; end the script if the system has none."""
    try:
        return importlib.import_module("resource")
    except ImportError:
        raise SystemExit(
            "what a process takes is measured here as Windows cannot: run this on Linux or macOS"
        ) from None


def megabytes():
    """Return the peak memory of this process; `resource` would include that of the process that started it.

    End the script on a system other than Linux.
    """
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    except OSError:
        raise SystemExit("peak memory is read from /proc here: run this on Linux") from None
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 2**10


def file_in(folder, name):
    """Return a file of the folder that ``--data-dir`` names; raise OSError, which `load_each` reports, if it is
    missing.
    """
    if folder is None:
        raise FileNotFoundError(f"--data-dir must name the folder with {name}")
    path = folder / name
    if not path.exists():
        raise FileNotFoundError(f"there is no {path}")
    return path


def load_each(sets, folder):
    """Yield the name and the data of each set; print the names of sets whose files are missing."""
    for name, load in sets.items():
        try:
            data = load(folder)
        except OSError as error:
            print(f"{name} is left out: {error}", flush=True)
        else:
            yield name, *data
