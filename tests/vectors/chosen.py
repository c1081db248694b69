"""Which of the forged cases are shipped: the distinct ways in which each rule breaks, by their names.

A line is the name of a case; behind a bar stand the fields that the cache keeps, where they are others than
the one that the case breaks. `CHOSEN_EMPTY` are made of a cache without samples, which needs no files.
"""

from __future__ import annotations


def lines(text: str) -> list[str]:
    return [line.strip() for line in text.strip().splitlines()]


CHOSEN_EMPTY = {
    "R002": lines("""
        empty
        cut inside the prefix
        cut after the digest
        byte order mark
        white space after the brace
        white space before the digest
        digest in upper case
        digest not hex
        digest not first
        an array
    """),
    "R003": lines("""
        digest of another text
        one bit of the text
        one blank more
        cut at the end
    """),
    "R004": lines("""
        minus zero
        minus zero, nested
        int 2^63
        int -2^63
        float over the largest
        leading zero
        plus sign
        no digit before the point
        no digit after the point
        no digit in the exponent
        NaN
        Infinity
        word True
        unquoted key
        trailing comma in an array
        trailing comma in an object
        comma missing
        mismatched bracket
        comment
        string not ended by a newline
        control character
        escape unknown
        escape of three digits
        escape with an underscore
        high surrogate alone
        low surrogate alone
        surrogates in the wrong order
        high surrogate, then a letter
        surrogate in a key
        no-break space
        duplicate key in an attribute
        duplicate key, one escaped
        nesting 65
        nesting 65 of objects
        nesting 65, mixed
        nesting never closed
        bytes not UTF-8
        UTF-8 of a surrogate
        UTF-8 overlong
        UTF-8 over 10FFFF
        NUL outside a string
        trailing comma at the top
        text after the object
        second object
        NUL after the object
        second digest
        duplicate key at the top
        duplicate format, one escaped
        minus zero as the format
    """),
    "R005": lines("""
        missing
        2
        0
        float 1.0
        str
        null
        2 and unknown keys
        escaped key, 2
        nothing but a newer format
    """),
    "R006": lines("""
        manifest with an unknown key
        manifest without attributes
        manifest without fingerprint
        manifest without metadata
        manifest without shards
        manifest, samples float
        manifest, samples null
        manifest, name int
        manifest, fingerprint int
        manifest, attributes list
        manifest, metadata list
        manifest, fields object
        manifest, shards str
        fields of str
        unknown key in other case
    """),
}

CHOSEN = {
    "R000": lines("manifest missing | half"),
    "R006": lines("""
        metadata without chunks | half, metadata
        chunk in upper case | half, metadata
        dense field with an unknown key | dense
        dense field without shape | dense
        ragged field without ndim | rag
        ndim in a dense field | dense
        zstd-dict field without dictionary | tokens
        dictionary with an unknown key | tokens
        dictionary null | feat
        delta null | grid
        index_blake3 of a fixed shard | dense
        indexed file without index_blake3 | rag
        body digest 63 digits | dense
        index digest of other digits | rag
    """),
    "R010": lines("""
        a shard of no samples | x
        a shard of -1 samples | half
        a shard of 2^62 samples | half
    """),
    "R011": lines("""
        samples one more | half
        samples negative | half
        samples the largest int | half
    """),
    "R012": lines("""
        metadata of 0 bytes | half, metadata
        no chunk | half, metadata
        a chunk too many | half, metadata
        a byte over one chunk | half, metadata
    """),
    "R014": lines("""
        kind 'Dense'
        kind unknown, without shape or ndim
        kind unknown, with shape and ndim
    """),
    "R015": lines("""
        codec 'lz4'
        codec unknown, with a dictionary
        codec unknown, index undigested
    """),
    "R016": lines("""
        dtype 'Uint16'
        dtype 'float8_e4m3'
        bytes of int8
        text of bool
    """),
    "R017": lines("""
        delta 0
        delta 256
        delta on float32
        delta on int8
        delta with codec raw, dense
    """),
    "R018": lines("""
        dense: 32 axes
        dense: negative axis
        dense: product over 2^48 beside a zero
        dense: product over 2^48 with its itemsize
        dense: product of 2^64 beside a zero
        ragged: no axis
        ragged: 32 axes
        ragged: 2^61 axes
    """),
    "R019": lines("""
        dictionary of 71 bytes
        dictionary.bytes 0
    """),
    "R020": lines("""
        a file too many
        a file too few
        no files
    """),
    "R021": lines("""
        fixed, pad missing
        fixed, a record missing
        indexed, index at an odd place
        indexed, index inside the header
        indexed, index longer than the file
        indexed, length negative
    """),
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

CHOSEN_METADATA = {
    "R041": lines("""
        digest of another chunk
        unused byte after the magic
        a byte in the middle
    """),
    "R042": lines("""
        one byte
        cut at the end
        a stream
        footer length 2^31 - 1
        footer, root behind its end
        batch, root behind its end
        schema message, length 2^31 - 1
        block behind the file
        block at an odd place
        block body into the footer
        message's body 0
        a node too few
        int64, node a row longer
        bool, 0 nulls for one
        nulls without a bitmap
        int64, buffer 1 at an odd place
        utf8_view, buffer 2, length over the body
        int64, buffer 1, a byte short
        views, no multiple of 16
        a buffer too many
        variadic counts one too many
        bool, a bit under the null
        float64, a value under the null
        utf8_view, a good short view under the null
        utf8_view, length -1
        utf8_view, offset a byte too far
        binary_view, prefix of another
        utf8_view, short, a byte after the text
        utf8_view, short, not UTF-8
        utf8_view, long, not UTF-8
        utf8_view, long, ends inside a letter
    """),
    "R043": lines("""
        4 rows for 5 samples
        6 rows for 5 samples
        no rows for 5 samples
    """),
    "R044": lines("""
        two short batches
        an empty batch after the last
    """),
    "R045": lines("""
        V4 in a batch
        custom metadata of the footer
        custom metadata of the schema
        custom metadata of a field
        big-endian
        bodies compressed, zstd
        no columns
        a column not nullable
        first message, another name
        first message, another type
        footer, a column less
        type float16
        type string
        type decimal128
        type timestamp[s]
        type timestamp in Berlin
        type fixed_size_binary
        type struct
        type list
        type dictionary
        name empty
        name of 256 bytes in 128 letters
        name with a NUL
        name with an underscore first
        name of a field | rag
        name of another column
        name not UTF-8
        int of 24 bits
    """),
    "R046": lines("""
        float32
        a null
        NaN
        infinity
        negative
    """),
}
