"""Our readers, validators, merge and dataset before the vectors that dsrt-format ships."""
