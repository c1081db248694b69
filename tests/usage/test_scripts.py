import re
from typing import Any

import pytest
import torch

from dsrt_format import reference
from dsrt_meta import Dataset


def test_the_notebook_shows_table_images_and_histogram(folder: Any) -> None:
    out = folder.run("j_notebook.py").stdout
    assert out.startswith("Dataset: 150 rows\n  caches   pets-train: 150 samples, ")
    for line in (
        "image    dense   uint8[32, 32, 3]  zstd",
        "metadata label int32, species string, width int32",
    ):
        assert line in out
    frame = Dataset.open(folder.path / "caches" / "pets-train").metadata
    counts = {name: int(count) for name, count in re.findall(r"│ ([abc]) +┆ (\d+) ", out)}
    assert counts == dict(frame["species"].value_counts().iter_rows())
    ones = frame.filter(label=1)["sample_id"]
    chosen = ones[reference.rows("permuted", len(ones), 0, 0, 1)[0]]
    assert f"'caption': 'b{chosen}: " in out.splitlines()[-1]
    assert "'image': (32, 32, 3)" in out
    assert all((folder.path / name).stat().st_size > 1000 for name in ("ten.png", "labels.png"))


@pytest.mark.parametrize(("processes", "steps"), [(1, 32), (2, 16), (7, 5)])
def test_evaluation_counts_every_sample_once(folder: Any, processes: int, steps: int) -> None:
    out = folder.run("f_exact_eval.py", processes=processes).stdout
    even = sum(i // 3 % 2 == 0 for i in range(1003))
    assert out.strip() == f"accuracy {even / 1003:.4f} over 1003 samples in {steps} steps a rank"


@pytest.mark.timeout(900)
@pytest.mark.parametrize("processes", [1, 2])
def test_training_that_was_preempted_ends_with_the_same_weights(folder: Any, processes: int) -> None:
    checkpoint = folder.path / "ckpt.pt"

    def trained(out: str) -> dict[str, Any]:
        assert out.startswith("done at 2880; waited ")
        saved = torch.load(checkpoint, weights_only=True)
        checkpoint.unlink()
        return saved

    whole = trained(folder.run("b_weighted_torch.py", processes=processes).stdout)
    # Inside the second epoch, three steps after the last checkpoint.
    folder.run("b_weighted_torch.py", processes=processes, fails=True, PREEMPT="1344")
    assert torch.load(checkpoint, weights_only=True)["loader"]["position"] == 1200
    resumed = trained(folder.run("b_weighted_torch.py", processes=processes).stdout)
    assert resumed["loader"] == whole["loader"]
    assert resumed["loader"]["position"] == 2880
    for name, weight in whole["net"].items():
        assert torch.equal(weight, resumed["net"][name]), name
