"""The command `dsrt`: build, inspect, verify and query caches."""

from dsrt_cli.app import main

__all__ = ["main"]
