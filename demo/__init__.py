"""The whole path on real data, in eight acts: `nox -s demo`, or `python -m demo`."""
