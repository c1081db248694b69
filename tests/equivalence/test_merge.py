"""A merged cache holds what its parts held, for any schema; its metadata is that of one writer."""

from hypothesis import given, settings
from hypothesis import strategies as st

from dsrt_format import Manifest, reference, validate
from dsrt_native import Cache, CacheWriter, merge

from .schemas import datasets, same
from .test_payload import EXAMPLES, Folder, check_sample


def write(path, specs, columns, samples, per_shard, is_plain):
    if is_plain:
        reference.write(path, specs, samples, columns, samples_per_shard=per_shard)
        return
    with CacheWriter(path, specs, columns, samples_per_shard=per_shard) as writer:
        for sample in samples:
            writer.append(sample)


@settings(EXAMPLES, max_examples=50)
@given(data=st.data())
def test_both_readers_find_the_samples_of_the_parts_in_order(data):
    specs, columns, samples = data.draw(datasets())
    cuts = data.draw(st.lists(st.integers(0, len(samples)), max_size=3).map(sorted))
    link = data.draw(st.booleans())
    with Folder() as folder:
        parts, files = [], 0
        for number, (start, stop) in enumerate(zip([0, *cuts], [*cuts, len(samples)], strict=True)):
            per_shard, is_plain = data.draw(st.integers(1, 5)), data.draw(st.booleans())
            parts.append(folder / f"part{number}")
            write(parts[-1], specs, columns, samples[start:stop], per_shard, is_plain)
            files += len(Manifest.load(parts[-1]).shards)
        with merge(parts, folder / "whole", link=link) as whole:
            found = list(whole)
        assert validate(folder / "whole") == []
        manifest = Manifest.load(folder / "whole")
        assert (manifest.num_samples, len(manifest.shards)) == (len(samples), files)
        by_reference = reference.read(folder / "whole")
        read_from_parts = [sample for part in parts for sample in Cache.open(part)]
        for sample, native, plain, before in zip(samples, found, by_reference, read_from_parts, strict=True):
            check_sample({name: sample[name] for name in specs}, {name: native[name] for name in specs})
            for name in native:
                assert same(native[name], plain[name])
                assert same(native[name], before[name])
        if columns:
            write(folder / "serial", specs, columns, samples, 2**20, False)
            table = (folder / "whole" / "metadata.arrow").read_bytes()
            assert table == (folder / "serial" / "metadata.arrow").read_bytes()
