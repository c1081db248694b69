"""Train, be killed, go on in a fresh process; and compare with a run that nobody interrupted."""

import json
import random
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from demo import stage
from demo.plan import EPOCHS, LOG, RESULT, STATE, STEPS_PER_EPOCH, WEIGHTS

WHOLE, KILLED = stage.OUTPUT / "training", stage.OUTPUT / "training-killed"

Log = list[dict[str, Any]]


@dataclass(frozen=True)
class Runs:
    """What both runs left: a log, where one of them was killed, how well the network reads."""

    whole: Log
    stopped_after: int
    right: int
    total: int

    @property
    def accuracy(self) -> float:
        """The share of the held-out digits that the network reads right."""
        return self.right / self.total


def train_twice(cache: Path) -> Runs:
    """Train in one go, and once more with a kill in the middle; end the demo unless the two are equal."""
    WHOLE.mkdir()
    KILLED.mkdir()
    stage.say("Once from beginning to end:")
    stage.run("python", "-m", "demo.train", cache, WHOLE)
    result = json.loads((WHOLE / RESULT).read_text())
    epoch, step = random.randrange(2, EPOCHS - 2), random.randrange(2, STEPS_PER_EPOCH - 1)
    stop = epoch * STEPS_PER_EPOCH + step
    stage.say(
        f"\nAnd once more, to be killed after step {stop}: {step} of {STEPS_PER_EPOCH} steps into "
        f"epoch {epoch}. Each run of this demo draws another one:"
    )
    stage.run("python", "-m", "demo.train", cache, KILLED, str(stop), expect=-signal.SIGKILL)
    stage.say(f"The process is gone (SIGKILL). It left {KILLED / WEIGHTS}, and {KILLED / STATE}:\n")
    stage.say(_state(KILLED / STATE))
    stage.run("python", "-m", "demo.train", cache, KILLED)
    runs = Runs(_log(WHOLE), stop, result["right"], result["total"])
    _compare(runs, _log(KILLED))
    _compare_weights(WHOLE / WEIGHTS, KILLED / WEIGHTS)
    return runs


def _log(folder: Path) -> Log:
    return [json.loads(line) for line in (folder / LOG).read_text().splitlines()]


def _state(path: Path) -> str:
    state = json.loads(path.read_text())
    short = {key: f"{value[:12]}…" if len(str(value)) > 24 else value for key, value in state.items()}
    return json.dumps(short, ensure_ascii=False)


def _compare(runs: Runs, resumed: Log) -> None:
    stage.say("\nPosition, a checksum of the rows that were drawn, and the exact bits of the loss:\n")
    both = ("loss, never stopped", "loss, killed and resumed")
    table = stage.table("step", "position", "rows", *both, "", numbers=(0, 1))
    last = len(runs.whole)
    shown = {1, 2, *range(runs.stopped_after - 2, runs.stopped_after + 4), last - 1, last}
    for one, other in zip(runs.whole, resumed, strict=False):
        if one["step"] in shown:
            mark = "equal" if one == other else "DIFFERENT"
            mark += ", killed here" if one["step"] == runs.stopped_after else ""
            place = str(one["step"]), f"{one['position']:,}", one["rows"]
            table.add_row(*place, one["loss"], other["loss"], mark)
    stage.say(table, "")
    stage.require(runs.whole == resumed, "the resumed run is not the run that was never stopped")
    stage.say(f"All {last} steps are equal to the last bit: positions, rows and losses.")


def _compare_weights(one: Path, other: Path) -> None:
    # Here, so that the demo's own process loads torch only when the children have done so.
    import torch

    whole, killed = (torch.load(path, weights_only=True)["net"] for path in (one, other))
    same = all(torch.equal(whole[name].view(torch.int32), killed[name].view(torch.int32)) for name in whole)
    stage.require(same, "the trained weights differ")
    stage.say(f"So are all {sum(tensor.numel() for tensor in whole.values()):,} trained weights.")
