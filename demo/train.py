"""Train a small network, in a process of its own.

    python -m demo.train CACHE FOLDER [STOP_AFTER]

Weights, the loader's state and a log are left in FOLDER. If there are weights there, training goes on from
them. After STOP_AFTER steps they are saved and the process is killed, as a preempted machine would be.
"""

import json
import os
import signal
import sys
import zlib
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn.functional import cross_entropy

from demo.choose import held_out, training
from demo.plan import BATCH, EPOCHS, LOG, RESULT, SEED, STATE, STEPS_PER_EPOCH, WEIGHTS
from dsrt_torch import Loader


def network() -> nn.Sequential:
    """Two convolutions and a linear layer: 9,930 parameters."""
    torch.manual_seed(SEED)
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(512, 10),
    )


def scaled(image: torch.Tensor) -> torch.Tensor:
    """Pixels as the network takes them; uint8[B, 8, 8] to float32[B, 1, 8, 8] in 0 to 1."""
    return image.unsqueeze(1).float() / 16


def train(cache: Path, folder: Path, stop_after: int | None) -> None:
    """Train to the end, or to the step after which the process dies."""
    loader = Loader(
        training(cache),
        BATCH,
        seed=SEED,
        epoch_len=BATCH * STEPS_PER_EPOCH,
        fields=["image", "label", "_row", "_position"],
    )
    net = network()
    optimizer = torch.optim.Adam(net.parameters(), 2e-3)
    if (folder / STATE).exists():
        saved = torch.load(folder / WEIGHTS, weights_only=True)
        net.load_state_dict(saved["net"])
        optimizer.load_state_dict(saved["optimizer"])
        loader.load_state_dict(json.loads((folder / STATE).read_text()))
        print(f"  process {os.getpid()} goes on in epoch {loader.epoch}, at position {loader.position:,}")

    def save() -> None:
        torch.save({"net": net.state_dict(), "optimizer": optimizer.state_dict()}, folder / WEIGHTS)
        (folder / STATE).write_text(json.dumps(loader.state_dict(), indent=1))

    with loader, (folder / LOG).open("a") as log:
        for epoch in range(loader.epoch, EPOCHS):
            for batch in loader:
                loss = cross_entropy(net(scaled(batch["image"])), batch["label"].long())
                optimizer.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
                optimizer.step()
                step = loader.position // BATCH
                print(json.dumps(_line(step, epoch, batch, loss.item())), file=log)
                if step == stop_after:
                    save()
                    log.flush()
                    os.kill(os.getpid(), signal.SIGKILL)  # nothing after this line runs: no exit, no clean-up
            if epoch % 5 == 4:
                print(f"  epoch {epoch:2}: loss {loss.item():.4f}", flush=True)
    save()
    right, total = score(net, cache)
    (folder / RESULT).write_text(json.dumps({"right": right, "total": total}))


def _line(step: int, epoch: int, batch: dict[str, Any], loss: float) -> dict[str, Any]:
    # float.hex is exact: equal text is equal bits.
    rows = zlib.crc32(batch["_row"].numpy().tobytes())
    position = int(batch["_position"][0])
    return {"step": step, "epoch": epoch, "position": position, "rows": f"{rows:08x}", "loss": loss.hex()}


def score(net: nn.Module, cache: Path) -> tuple[int, int]:
    """How many of the held-out digits the network reads right, and of how many."""
    right = total = 0
    with (
        torch.no_grad(),
        Loader(held_out(cache), 128, order="sequential", fields=["image", "label"]) as loader,
    ):
        for batch in loader:
            guess = net(scaled(batch["image"])).argmax(1)
            right += int(((guess == batch["label"]) & batch["_valid"]).sum())
            total += int(batch["_valid"].sum())
    return right, total


def main() -> None:
    """Do as the arguments say."""
    # One thread and no nondeterministic kernels: the same batches give the same bits.
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    cache, folder, *stop_after = sys.argv[1:]
    train(Path(cache), Path(folder), int(stop_after[0]) if stop_after else None)


if __name__ == "__main__":
    main()
