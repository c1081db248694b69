"""Field specs: what a cache stores per sample, said once by whoever writes it. Frozen, compared by value."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, Literal, TypeAlias

from dsrt_format.dtypes import ITEMSIZE
from dsrt_format.errors import SchemaError

__all__ = [
    "DICTIONARY_BYTES",
    "MAX_AXES",
    "MAX_RECORD_BYTES",
    "TRAINED_BYTES",
    "Bytes",
    "Codec",
    "Dense",
    "FieldSpec",
    "Ragged",
    "Text",
    "Zstd",
    "codec_name",
    "shape_problem",
]

MAX_AXES = 31
"""A batch adds one axis, and NumPy 1 can do 32."""

MAX_RECORD_BYTES = 2**48
"""The limit of the product of a record's non-zero axes and its itemsize."""

DICTIONARY_BYTES = (8, 2**20)
"""The least and greatest length of a dictionary's body."""

TRAINED_BYTES = 65536
"""What a dictionary of ``"train"`` has at most."""


@dataclass(frozen=True)
class Zstd:
    """Zstandard, one frame per record.

    Args:
        level: 1 (fast) to 22 (small).
        dictionary: None, or what every record is compressed against: 8 bytes to 1 MiB, a trained dictionary
            or raw content; or ``"train"``, a dictionary of 64 KiB that the writer trains on the first
            samples, which it holds in memory until their records have 100 times as many bytes. It pays for
            records of less than a few KiB that resemble each other. Parts that will be merged need one
            dictionary given to all, such as `dsrt_native.train_dictionary` makes.

    Raises:
        SchemaError: The level or the length of the dictionary is out of range.
        TypeError: An argument has another type.
    """

    level: int = 3
    _: KW_ONLY
    dictionary: bytes | Literal["train"] | None = None

    def __post_init__(self) -> None:
        _require_int("level", self.level)
        if not 1 <= self.level <= 22:
            raise SchemaError(f"Zstd level {self.level}: levels are 1 to 22")
        if self.dictionary is None or self.dictionary == "train":
            return
        if not isinstance(self.dictionary, bytes):
            raise TypeError(f"Zstd dictionary: expected bytes or 'train', not {self.dictionary!r:.80}")
        low, high = DICTIONARY_BYTES
        if not low <= len(self.dictionary) <= high:
            raise SchemaError(
                f"Zstd dictionary of {len(self.dictionary)} bytes: it has {low} to {high} bytes"
            )

    def __repr__(self) -> str:
        if isinstance(self.dictionary, bytes):
            return f"Zstd({self.level}, dictionary=<{len(self.dictionary)} bytes>)"
        return f"Zstd({self.level})" if self.dictionary is None else f"Zstd({self.level}, dictionary='train')"


Codec: TypeAlias = Literal["raw", "zstd"] | Zstd
"""How records are stored. ``"zstd"`` is short for ``Zstd()``; a spec holds the long form."""


@dataclass(frozen=True)
class Dense:
    """One array of a fixed dtype and shape per sample.

    Args:
        dtype: The name of the element type, such as ``"float32"``; see `dsrt_format.dtypes.ITEMSIZE`.
        shape: 0 to 31 axes, each >= 0; ``()`` is a scalar.
        codec: ``"raw"``, ``"zstd"`` or a `Zstd`.
        delta: 0, or the distance in bytes of a difference filter before the codec, for uint8 only: 3 for an
            RGB image in HWC layout.

    Raises:
        SchemaError: An unknown dtype or codec; a shape or delta out of range.
        TypeError: An argument has another type.
    """

    kind: ClassVar[Literal["dense"]] = "dense"

    dtype: str
    shape: tuple[int, ...] = ()
    _: KW_ONLY
    codec: Codec = "raw"
    delta: int = 0

    def __post_init__(self) -> None:
        _check_dtype(self.dtype)
        if not isinstance(self.shape, tuple | list):
            raise TypeError(f"shape: expected a tuple of ints, not {self.shape!r}")
        for axis in self.shape:
            _require_int("an axis of shape", axis)
        object.__setattr__(self, "shape", tuple(self.shape))
        object.__setattr__(self, "codec", _settled(self.codec))
        _check_delta(self.delta, self.dtype, self.codec)
        if (problem := shape_problem(self.shape, ITEMSIZE[self.dtype])) is not None:
            raise SchemaError(f"shape {self.shape}: {problem}")


@dataclass(frozen=True)
class Ragged:
    """One array of a fixed dtype and number of axes per sample, each of its own shape.

    Args:
        dtype: As for `Dense`.
        ndim: The number of axes, 1 to 31.
        codec: As for `Dense`.
        delta: As for `Dense`.

    Raises:
        SchemaError: An unknown dtype or codec; ndim or delta out of range.
        TypeError: An argument has another type.
    """

    kind: ClassVar[Literal["ragged"]] = "ragged"

    dtype: str
    ndim: int = 1
    _: KW_ONLY
    codec: Codec = "raw"
    delta: int = 0

    def __post_init__(self) -> None:
        _check_dtype(self.dtype)
        _require_int("ndim", self.ndim)
        object.__setattr__(self, "codec", _settled(self.codec))
        _check_delta(self.delta, self.dtype, self.codec)
        if not 1 <= self.ndim <= MAX_AXES:
            raise SchemaError(f"ndim {self.ndim}: a ragged field has 1 to {MAX_AXES} axes")


@dataclass(frozen=True)
class Bytes:
    """A string of bytes per sample, such as a JPEG file.

    Args:
        codec: As for `Dense`; what is compressed already is best left ``"raw"``.

    Raises:
        SchemaError: An unknown codec.
    """

    kind: ClassVar[Literal["bytes"]] = "bytes"
    dtype: ClassVar[str] = "uint8"
    delta: ClassVar[int] = 0

    _: KW_ONLY
    codec: Codec = "raw"

    def __post_init__(self) -> None:
        object.__setattr__(self, "codec", _settled(self.codec))


@dataclass(frozen=True)
class Text:
    """A str per sample, stored as UTF-8 and not normalised; it may hold U+0000.

    Args:
        codec: As for `Dense`.

    Raises:
        SchemaError: An unknown codec.
    """

    kind: ClassVar[Literal["text"]] = "text"
    dtype: ClassVar[str] = "uint8"
    delta: ClassVar[int] = 0

    _: KW_ONLY
    codec: Codec = "raw"

    def __post_init__(self) -> None:
        object.__setattr__(self, "codec", _settled(self.codec))


FieldSpec: TypeAlias = Dense | Ragged | Bytes | Text


def codec_name(codec: Codec) -> Literal["raw", "zstd", "zstd-dict"]:
    """Return a codec as the manifest spells it."""
    if not isinstance(codec, Zstd):
        return codec
    return "zstd" if codec.dictionary is None else "zstd-dict"


def shape_problem(shape: Sequence[int], itemsize: int) -> str | None:
    """Say why a record of the format cannot have this shape, or return None if it can."""
    if len(shape) > MAX_AXES:
        return f"{len(shape)} axes, at most {MAX_AXES} are possible"
    size = itemsize
    for axis in shape:
        if axis < 0:
            return "an axis is negative"
        size *= axis or 1
        if size > MAX_RECORD_BYTES:
            return f"the non-zero axes times the itemsize of {itemsize} exceed 2^48 bytes"
    return None


def _require_int(name: str, value: object) -> None:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{name}: expected an int, not {value!r}")


def _check_dtype(dtype: object) -> None:
    if not isinstance(dtype, str):
        raise TypeError(f"dtype: expected a name such as 'uint8', not {dtype!r}")
    if dtype not in ITEMSIZE:
        raise SchemaError(f"unknown dtype {dtype!r}; the dtypes are {', '.join(ITEMSIZE)}")


def _settled(codec: Codec) -> Codec:
    if codec == "zstd":
        return Zstd()
    if codec != "raw" and not isinstance(codec, Zstd):
        raise SchemaError(f"unknown codec {codec!r}; expected 'raw', 'zstd' or Zstd(...)")
    return codec


def _check_delta(delta: int, dtype: str, codec: Codec) -> None:
    _require_int("delta", delta)
    if not 0 <= delta <= 255:
        raise SchemaError(f"delta {delta}: it is a distance in bytes, 1 to 255, or 0 for none")
    if delta and (dtype != "uint8" or codec == "raw"):
        raise SchemaError(
            f"delta {delta} with dtype {dtype} and codec {codec!r}: the filter is for uint8 before a "
            "codec; say codec='zstd' or leave delta out"
        )
