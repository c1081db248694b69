"""Which forged cases of R041 to R046 are shipped, by their names."""

from __future__ import annotations

from tests.vectors.lines import lines

CHOSEN = {
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
        footer, dictionaries refer to their own place
        footer, children of a column refer to their own place
        schema message, a name without its zero
        schema message, a directory at an odd place
        footer, its version at an odd place
        footer, blocks at a place for 4 bytes
        footer, features empty and at a place for 4 bytes
        an int of 24 bits, its sign outside
        a timestamp[s], its zone without a zero
        a block at an odd place behind a batch of V4
    """),
    "R043": lines("""
        4 rows for 5 samples
        6 rows for 5 samples
        no rows for 5 samples
        4 rows for 5 samples, and a node too few
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
        int of 24 bits, its children refer to their own place
        V4 in the footer, its blocks refer to their own place
        V4 in the footer, the root of the first message behind its end
        bodies compressed, and of 0 bytes by their message
    """),
    "R046": lines("""
        float32
        a null
        NaN
        infinity
        negative
    """),
}
