"""DSRT beside its peers: `python -m benchmarks`, or `nox -s bench`. See README.md in this folder."""
