"""The whole path on real data, in seven acts: `nox -s demo`, or `python -m demo`."""
