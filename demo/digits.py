"""A source: scikit-learn's 1,797 handwritten digits, 8 x 8 pixels of 0 to 16 each."""

from importlib.metadata import version
from typing import Any

from sklearn.datasets import load_digits

from dsrt_format import Dense, fingerprint


class Digits:
    """The digits, with what people choose by beside the pixels; every fifth is held out for testing."""

    name = "digits"
    fields = {"image": Dense("uint8", (8, 8))}
    metadata = {"label": "int32", "ink": "float32", "split": "string"}
    fingerprint = fingerprint("digits", 1, version("scikit-learn"))
    samples_per_shard = 512

    def __init__(self) -> None:
        digits = load_digits()
        self.images, self.labels = digits.images.astype("uint8"), digits.target

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, i: int) -> dict[str, Any]:
        image, split = self.images[i], "test" if i % 5 == 0 else "train"
        return {"image": image, "label": self.labels[i], "ink": image.mean(dtype="float32"), "split": split}
