"""How exporters write what exported.py reads: models, and inputs of several runs."""

import sys
from pathlib import Path

import numpy as np


def save_feeds(folder, name, feeds):
    """Writes the inputs of the runs; "0/image" is an input of the first one."""
    np.savez(folder / f"{name}.npz", **{f"{step}/{key}": value for step, feed in enumerate(feeds)
                                        for key, value in feed.items()})


def main(models, write):
    """Writes the models that the command line names, or all, into the folder before them."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[2:] or models:
        write(name, folder)
