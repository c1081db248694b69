"""Which forged cases of R000 to R021 are shipped: the distinct ways in which each rule breaks, by name."""

from __future__ import annotations

from tests.vectors.lines import lines

# Made of a cache without samples, which needs no files.
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
}
