"""Whatever becomes of its files, an open cache gives the old values or raises, and never a mix."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dsrt_format import Manifest
from dsrt_format.errors import DataError, FormatError, StaleCacheError
from dsrt_native import Cache

from .caches import FILES, PER_SHARD, SAMPLES, open_all, questions
from .changes import CUTS, REBUILDS, REPLACEMENTS, overwrite

Fresh = Callable[[], Path]
RULES = {"R030", "R031", "R033", "R034", "R039", "R040", "R041"}


def states(path: Path, io: Any) -> dict[str, Cache]:
    """Caches before the change: one with nothing open yet, one with every file open."""
    caches = {"nothing open": Cache.open(path, io=io), "all open": Cache.open(path, io=io)}
    open_all(caches["all open"])
    return caches


def refusals(cache: Cache, old: dict[str, Any]) -> dict[str, FormatError]:
    """What each question raises; those answered are answered as before the change."""
    refused = {}
    for name, ask in questions().items():
        try:
            found = ask(cache)
        except FormatError as error:
            refused[name] = error
        else:
            assert found == old[name], name
    assert {error.rule for error in refused.values()} <= RULES, refused
    assert {error.cache for error in refused.values()} <= {cache.path}
    return refused


@pytest.mark.parametrize("where", CUTS)
@pytest.mark.parametrize("kind", FILES)
def test_a_file_that_is_cut_off_is_an_exception_by_pread(
    kind: str, where: str, fresh: Fresh, old: dict[str, Any]
) -> None:
    path = fresh()
    caches = states(path, "pread")
    CUTS[where](path / FILES[kind])
    for state, cache in caches.items():
        refused = refusals(cache, old)
        assert {error.rule for error in refused.values()} <= {"R030"}, state
        # What was read of dictionary and metadata is kept.
        if state == "nothing open":
            assert refused
        if kind.endswith("shard"):
            field = FILES[kind].split("/")[1]
            for name, error in refused.items():
                assert (error.field, error.shard) == (field, 1), name
                assert isinstance(error, DataError)
                if name != f"{field} lengths":
                    assert error.sample in range(PER_SHARD, SAMPLES)
                assert FILES[kind] in str(error)
            assert f"{field} {SAMPLES - 1}" in refused
        cache.close()


@pytest.mark.parametrize("io", ["mmap", "pread"])
@pytest.mark.parametrize("change", REPLACEMENTS)
@pytest.mark.parametrize("kind", FILES)
def test_a_file_that_is_replaced_gives_the_old_values_or_an_exception(
    kind: str, change: str, io: str, fresh: Fresh, old: dict[str, Any]
) -> None:
    path = fresh()
    caches = states(path, io)
    REPLACEMENTS[change](path / FILES[kind])
    # What is open stays what it was. Only mapped metadata are asked for their length after each use.
    grown = (kind, change, io) == ("metadata", "extended", "mmap")
    assert bool(refusals(caches["all open"], old)) == grown
    assert refusals(caches["nothing open"], old)


@pytest.mark.parametrize("io", ["mmap", "pread"])
@pytest.mark.parametrize("kind", [kind for kind in FILES if kind.endswith("shard")])
def test_a_shard_that_is_overwritten_in_place_is_found_by_the_checksum_of_each_record(
    kind: str, io: str, fresh: Fresh, old: dict[str, Any]
) -> None:
    path = fresh()
    caches = states(path, io)
    overwrite(path / FILES[kind])
    field = FILES[kind].split("/")[1]
    changed = {f"{field} {i}" for i in range(PER_SHARD, SAMPLES)} | {f"{field} batch"}
    changed |= {f"{field} slice"} & questions().keys()
    refused = refusals(caches["all open"], old)
    for name in changed:
        error = refused.pop(name)
        assert isinstance(error, DataError)
        assert (error.rule, error.field, error.shard) == ("R033", field, 1), name
        assert error.sample in range(PER_SHARD, SAMPLES)
    # Lengths are in the index, which has a digest.
    assert {(name, error.rule) for name, error in refused.items()} <= {(f"{field} lengths", "R039")}
    fresh_refused = refusals(caches["nothing open"], old)
    assert changed <= fresh_refused.keys()
    assert {error.rule for error in fresh_refused.values()} == {"R031"}


@pytest.mark.parametrize("io", ["mmap", "pread"])
def test_a_dictionary_that_is_overwritten_in_place_is_kept_as_it_was_or_refused(
    io: str, fresh: Fresh, old: dict[str, Any]
) -> None:
    path = fresh()
    caches = states(path, io)
    overwrite(path / FILES["dictionary"])
    assert refusals(caches["all open"], old) == {}
    refused = refusals(caches["nothing open"], old)
    assert {f"tokens {i}" for i in range(SAMPLES)} <= refused.keys()
    assert {error.rule for error in refused.values()} <= {"R031", "R040"}


def test_metadata_that_are_overwritten_in_place_stay_what_they_were_where_pread_has_read_them(
    fresh: Fresh, old: dict[str, Any]
) -> None:
    path = fresh()
    used, caches = Cache.open(path, io="pread"), states(path, "pread")
    unused = Cache.open(path, io="mmap")
    assert used.metadata.to_pydict() == old["table"]
    overwrite(path / FILES["metadata"])
    assert refusals(used, old) == {}
    # One column was read: the others lie in chunks that come now, and are proven.
    refused = refusals(caches["all open"], old)
    assert {"number batch", "number 5"}.isdisjoint(refused)
    assert {error.rule for error in refused.values()} <= {"R041"}
    for cache in (caches["nothing open"], unused):
        refused = refusals(cache, old)
        assert {"number 5", "word 5", "weights", "table"} <= refused.keys()
        assert {error.rule for error in refused.values()} == {"R041"}


@pytest.mark.parametrize("io", ["mmap", "pread"])
@pytest.mark.parametrize("change", REBUILDS)
def test_a_cache_that_is_replaced_gives_the_old_values_or_an_exception(
    change: str, io: str, fresh: Fresh, old: dict[str, Any]
) -> None:
    path = fresh()
    caches = states(path, io)
    some = Cache.open(path, io=io)
    some.fields["raw"][0], some.fields["tokens"][4]
    digest = Manifest.load(path).digest
    REBUILDS[change](path)
    assert refusals(caches["all open"], old) == {}
    for cache in (some, caches["nothing open"]):
        for error in refusals(cache, old).values():
            assert error.rule in ("R030", "R031", "R040", "R041")
    assert "raw 0" not in refusals(some, old)
    if change in ("rebuilt", "removed and built", "copied over"):
        assert Manifest.load(path).digest != digest
        with pytest.raises(StaleCacheError):
            some.manifest
        assert Cache.open(path, io=io)[0]["number"] == 201
