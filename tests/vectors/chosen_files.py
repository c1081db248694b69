"""Which forged cases of R030 to R040 are shipped, by their names."""

from __future__ import annotations

from tests.vectors.lines import lines

CHOSEN = {
    "R030": lines("""
        fixed shard missing
        fixed shard a byte short
        indexed shard a byte long
        indexed shard missing
        dictionary missing
        metadata missing | half, metadata
        metadata a byte long | half, metadata
        dictionary missing without samples
    """),
    "R031": lines("""
        fixed, magic, first byte
        fixed, type
        fixed, entry
        fixed, count
        fixed, digest, last byte
        indexed, entry
        indexed, count
        indexed, digest, first byte
        dictionary, magic, first byte
        dictionary, digest, last byte
        dense, the manifest names another body
        rag, the manifest names another body
        two shards exchanged
        dense, the shard of another build
        rag, the shard of another build
    """),
    "R032": lines("""
        rag, first record ends in the header
        rag, record begins in the header
        rag, ends before it begins
        rag, begins behind its end
        rag, a byte into the index
        rag, far behind the file
        rag, end 2^64 - 1
        feat, first record ends at 0
        tokens, a byte into the index
    """),
    "R033": lines("""
        dense, first byte
        dense, last byte
        rag, first byte
        jpeg, first byte
        title, last byte
        caption, first byte
        dense, lowest bit of the checksum
        rag, highest bit of the checksum
        dense, ordinal of the other record
        dense, number in the cache for the ordinal
        feat, ordinal left out
        dense, a hole
        rag, shape not in the checksum
        rag, shape changed
        caption, shape changed
        grid, axes exchanged
        records exchanged with their entries
        a record twice
        checksums without the key
        dense, another build under our header
        rag, another build under our header
        rag, a byte of the next record
        rag, pad taken for a record
    """),
    "R034": lines("""
        rag, shape 3
        rag, shape 5
        rag, shape 140737488355329
        rag, shape 18446744073709551615
        rag, empty, shape 9223372036854775808
        jpeg, shape one more
        title, shape 2^64 - 1
        tokens, shape 4611686018427387904
        blob, shape 281474976710657
        grid, shape (0, 281474976710657)
        grid, shape (4294967296, 4294967296)
        raw, two axes, 2^64 bytes
    """),
    "R035": lines("""
        blob, an item over the bound
        blob, 1 GiB
        tokens, an item over the bound
        blob, something out of nothing
    """),
    "R036": lines("""
        magic of version 0.7
        skippable frame
        skippable frame, then a good one
        stored as they are
        dictionary id of a byte
        dictionary id 0
        checksum
        reserved bit
        no content size
        content size one more
        content size 2^32 more
        content of another size
        window of 144 MiB
        header cut after 8 bytes
        empty frame without a content size
        dense, frame of a shorter record
        ragged with a dictionary, frame names it
    """),
    "R037": lines("""
        a byte after the frame
        a second frame
        compressed, a byte after it
        no block
        compressed block cut
        no last block
        a byte too many
        a run far too long
        blocks that add up to less
        garbage in a compressed block
        empty, a byte after it
        text, a byte too few
        nothing at the bound of R035
        match before the start of the content
    """),
    "R038": lines("""
        title, a byte alone
        title, cut short
        title, overlong in three
        title, a surrogate
        title, over 10FFFF
        title, wrong after long ASCII
        caption, overlong NUL
        caption, a run
    """),
    "R039": lines("""
        rag, digest of another index
        caption, digest of another index
        digest of the index without key
    """),
    "R040": lines("""
        dictionary of another digest
        one bit of the dictionary
        last byte of the dictionary
        trained dictionary, magic and zeros
        trained dictionary cut in its tables
        trained dictionary, tables overwritten
    """),
}
