"""The acts, in order."""

import shutil
import time
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from demo import damage, resume, stage
from demo.choose import held_out, training
from demo.digits import Digits
from demo.gallery import read_photos
from demo.photos import Photos
from demo.plan import BATCH, SEED, STEPS_PER_EPOCH
from demo.stage import act, require, run, say, table
from dsrt_meta import Dataset
from dsrt_native import BuildResult, Loader, build

CACHES = stage.OUTPUT / "caches"
LEAST_ACCURACY = 0.95


def main() -> None:
    """Play the demo; exit code 1 if anything is not as it should be."""
    began = time.monotonic()
    shutil.rmtree(stage.OUTPUT, ignore_errors=True)
    stage.OUTPUT.mkdir()
    act(1, "Build")
    digits = build_digits()
    act(2, "Inspect")
    inspect(digits)
    act(3, "Choose and weigh")
    rows, drawn, batch = choose(digits)
    act(4, "Train, be killed, resume")
    runs = train(digits)
    act(5, "One flipped bit")
    damage.flip_and_find(digits)
    act(6, "Photographs: ragged shapes and JPEG files")
    read_photos(built(Photos()).path)
    act(7, "A picture")
    # Here, because matplotlib takes its time and the first act should not wait for it.
    from demo.picture import draw

    picture = stage.OUTPUT / "demo.png"
    draw(picture, batch, rows, drawn, runs)
    say(f"Digits, classes, and the loss of both runs: {picture}")
    act(8, "What was shown, and where it lies")
    lines = Table.grid(padding=(0, 3))
    lines.add_row("real samples, built into two caches, reused the second time", f"{CACHES}/")
    lines.add_row("chosen and weighed with Polars, drawn in balance", "demo/choose.py")
    lines.add_row(f"a network that reads {runs.accuracy:.1%} of unseen digits", "demo/train.py")
    lines.add_row(f"killed after step {runs.stopped_after}, resumed, equal to the bit", f"{resume.KILLED}/")
    lines.add_row("one flipped bit, found in its field, shard and sample", f"{damage.DAMAGED}/")
    lines.add_row("the picture", str(picture))
    say(lines, f"\nDone in {time.monotonic() - began:.0f} s. You may delete {stage.OUTPUT}/.")


def built(source: Digits | Photos) -> BuildResult:
    """Build a source with a bar that shows how far it is."""
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns, console=stage.console) as bar:
        task = bar.add_task(f"building {source.name}", total=len(source))
        return build(source, CACHES, progress=lambda now: bar.update(task, completed=now.done))


def build_digits() -> Path:
    """Build the cache, and build it again."""
    say("scikit-learn carries real handwritten digits; demo/digits.py is a source of them, 20 lines long.\n")
    result = built(Digits())
    say(f"{result.status}: {result.num_samples:,} samples in {result.path}\n\nOnce more, as any later run:\n")
    again = build(Digits(), CACHES)
    say(f"{again.status}: a cache of this name and fingerprint is there, so nothing had to be built.")
    require((result.status, again.status) == ("built", "reused"), "it was not built and then reused")
    return result.path


def inspect(cache: Path) -> None:
    """Look at the cache from outside."""
    run("dsrt", "inspect", cache)
    run("dsrt", "inspect", cache, "7")
    columns = "label, COUNT(*) AS digits, AVG(ink) AS ink, MAX(ink) AS boldest"
    run("dsrt", "query", cache, f"SELECT {columns} FROM samples GROUP BY label ORDER BY label")


def choose(cache: Path) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], dict[str, Any]]:
    """Filter and weigh; return samples and draws per class, and a batch to look at."""
    everything, chosen = Dataset.open(cache), training(cache)
    epoch = BATCH * STEPS_PER_EPOCH
    say(
        "A Polars filter keeps the training split: all of the digits 0 to 4, of 5 to 9 only the bold ones. "
        f"{len(chosen):,} of {len(everything):,} samples are left, and the classes are unbalanced now. "
        f"Weights of 1 / (samples of the class) make up for it. Counted over {epoch:,} draws, an epoch:\n"
    )
    rows = np.bincount(chosen.metadata["label"].to_numpy(), minlength=10)
    with Loader(chosen, BATCH, seed=SEED, epoch_len=epoch, fields=["image", "label"]) as loader:
        batches = list(loader)
    drawn = np.bincount(np.concatenate([batch["label"] for batch in batches]), minlength=10)
    counts = table("digit", "chosen", "", "drawn", "", numbers=(0, 1, 3))
    for digit in range(10):
        before, after = int(rows[digit]), int(drawn[digit])
        counts.add_row(str(digit), str(before), "█" * (before // 6), str(after), "█" * (after // 6))
    say(counts)
    require(bool(rows.max() > 2 * rows.min()), "the filter does not unbalance the classes")
    require(bool(drawn.max() < 1.5 * drawn.min()) and drawn.sum() == epoch, "the draws are not balanced")
    return rows, drawn, batches[0]


def train(cache: Path) -> resume.Runs:
    """Train, be killed, resume; the network has to read digits that it never saw."""
    say(f"A small network learns from weighted draws of {len(training(cache)):,} digits, {BATCH} a batch.")
    runs = resume.train_twice(cache)
    say(f"The network reads {runs.right} of {runs.total} held-out digits right: {runs.accuracy:.1%}.")
    require(runs.total == len(held_out(cache)), "not every held-out digit was counted once")
    require(runs.accuracy > LEAST_ACCURACY, f"that is not more than {LEAST_ACCURACY:.0%}")
    return runs
