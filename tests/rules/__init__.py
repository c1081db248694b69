"""Each rule of the format, broken alone with every checksum above it made anew, and each reader."""
