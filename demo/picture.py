"""The picture: what was drawn, how the weights balance the classes, and the loss of both runs."""

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import numpy.typing as npt

mpl.use("Agg")

import matplotlib.pyplot as plt

from demo.plan import STEPS_PER_EPOCH
from demo.resume import Runs

INK, GREY, BLUE, ORANGE = "#222222", "#9aa0a6", "#2f6db5", "#e07b39"


def draw(
    path: Path, batch: dict[str, Any], rows: npt.NDArray[np.int64], drawn: npt.NDArray[np.int64], runs: Runs
) -> None:
    """Write the PNG file.

    Args:
        path: Where to.
        batch: A batch with at least 48 digits: uint8[B, 8, 8] `image` and int32[B] `label`.
        rows: How many samples of each class there are to choose from; int64[10].
        drawn: How many of each were drawn in an epoch; int64[10].
        runs: The losses.
    """
    plt.rcParams.update({"font.size": 9, "axes.edgecolor": GREY, "text.color": INK, "axes.labelcolor": INK})
    figure = plt.figure(figsize=(11, 6.4), dpi=150, layout="constrained")
    grid = figure.add_gridspec(2, 1, height_ratios=(1, 1.05))
    upper = grid[0].subgridspec(1, 2, width_ratios=(1.55, 1))
    _digits(figure.add_subfigure(upper[0]), batch)
    _classes(figure.add_subplot(upper[1]), rows, drawn)
    _losses(figure.add_subplot(grid[1]), runs)
    figure.savefig(path)
    plt.close(figure)


def _digits(figure: Any, batch: dict[str, Any]) -> None:
    figure.suptitle("A batch, drawn by weight", fontweight="bold")
    for axes, image, label in zip(figure.subplots(4, 12).flat, batch["image"], batch["label"], strict=False):
        axes.imshow(image, cmap="gray_r", vmin=0, vmax=16, interpolation="nearest")
        axes.text(0.02, 0.98, int(label), transform=axes.transAxes, color=ORANGE, va="top", fontsize=7)
        axes.set(xticks=[], yticks=[], xlim=(-3, 7.5))  # room for the label
        axes.spines[:].set_visible(False)


def _classes(axes: Any, rows: npt.NDArray[np.int64], drawn: npt.NDArray[np.int64]) -> None:
    classes = np.arange(10)
    axes.bar(classes - 0.2, rows, 0.4, color=GREY, label="samples there are")
    axes.bar(classes + 0.2, drawn, 0.4, color=BLUE, label="draws in an epoch")
    axes.set_title("Classes, before and after", fontweight="bold")
    axes.set(xticks=classes, xlabel="digit", ylim=(0, max(rows.max(), drawn.max()) * 1.3))
    axes.legend(frameon=False, ncols=2, loc="upper center")
    axes.spines[["top", "right"]].set_visible(False)


def _losses(axes: Any, runs: Runs) -> None:
    steps = np.array([line["step"] for line in runs.whole])
    losses = np.array([float.fromhex(line["loss"]) for line in runs.whole])
    after = steps > runs.stopped_after
    axes.plot(steps, losses, color=GREY, linewidth=5, alpha=0.45, label="never stopped")
    axes.plot(steps[~after], losses[~after], color=BLUE, linewidth=1.1, label="until it was killed")
    axes.plot(steps[after], losses[after], color=ORANGE, linewidth=1.1, label="resumed in a fresh process")
    axes.axvline(runs.stopped_after, color=INK, linewidth=0.8, linestyle=":")
    axes.annotate(
        f"killed after step {runs.stopped_after}",
        (runs.stopped_after, losses.max()),
        textcoords="offset points",
        xytext=(6, -8),
    )
    for edge in range(0, len(steps) + 1, STEPS_PER_EPOCH):
        axes.axvline(edge, color=GREY, linewidth=0.3, alpha=0.6)
    accuracy = f"{runs.accuracy:.1%} of held-out digits are read right"
    axes.set_title(f"Loss of every step, both runs; {accuracy}", fontweight="bold")
    axes.set(yscale="log", xlabel="step (thin lines: epochs)", ylabel="cross entropy", xlim=(0, len(steps)))
    axes.legend(frameon=False, loc="lower left")
    axes.spines[["top", "right"]].set_visible(False)
