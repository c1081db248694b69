"""Documentation and source text of installed packages, as tokens of a byte-level BPE that is trained on it.

The packages are named, so that what else is installed makes no difference; one that is absent is left out.
The files are taken in the order of their paths, up to so many bytes a package.
"""

import os
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution, version
from itertools import islice
from pathlib import Path

import numpy as np

PACKAGES = "networkx", "numpy", "polars", "scikit-image", "scipy", "sympy", "torch"
SUFFIXES = ".md", ".py", ".rst", ".txt"
PACKAGE_BYTES, FILE_BYTES, TRAINING_BYTES = 6 << 20, 1 << 17, 8 << 20
VOCABULARY = 32_768
_AT_ONCE = 256


def recipe() -> list[object]:
    """What the result follows from."""
    bounds = PACKAGE_BYTES, FILE_BYTES, TRAINING_BYTES, VOCABULARY
    return [*bounds, *SUFFIXES, version("tokenizers"), *map(_named, PACKAGES)]


def make(folder: Path) -> str:
    """Write uint16[tokens] and the tokeniser, and return what it is."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    texts = [text for package in PACKAGES for text in _texts(package)]
    # Evenly over all packages: the first of every few files.
    every = max(1, round(sum(map(len, texts)) / TRAINING_BYTES))
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=VOCABULARY, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(texts[::every], trainer)

    each = iter(texts)
    parts = []
    while some := list(islice(each, _AT_ONCE)):
        parts += [np.array(encoded.ids, np.uint16) for encoded in tokenizer.encode_batch_fast(some)]
    tokens = np.concatenate(parts)
    np.save(folder / "tokens.npy", tokens)
    tokenizer.save(str(folder / "tokenizer.json"))
    size = sum(len(text.encode()) for text in texts)
    names = ", ".join(map(_named, PACKAGES))
    return (
        f"{len(tokens):,} tokens of {size >> 20} MiB of text of {names}, "
        f"by tokenizers {version('tokenizers')} with a vocabulary of {tokenizer.get_vocab_size():,}"
    )


def _named(package: str) -> str:
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        return f"no {package}"


def _texts(package: str) -> Iterator[str]:
    try:
        files = distribution(package).files or []
    except PackageNotFoundError:
        return
    left = PACKAGE_BYTES
    for file in sorted(files, key=lambda file: file.as_posix()):
        # Tests come with tables of numbers, which are no text.
        if file.suffix not in SUFFIXES or "tests" in file.parts:
            continue
        path = Path(os.fspath(file.locate()))
        size = path.stat().st_size if path.is_file() else 0
        if size > FILE_BYTES:
            continue
        if size > left:
            return
        left -= size
        yield path.read_bytes().decode("utf-8", "replace")
