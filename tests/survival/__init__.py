"""Builds that are killed, starved and interrupted for real; `python -m tests.survival` counts them."""
