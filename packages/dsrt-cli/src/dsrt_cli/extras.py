"""Packages that only some commands need."""

import importlib
from types import ModuleType

from dsrt_cli.terminal import fail

__all__ = ["need"]


def need(module: str, extra: str) -> ModuleType:
    """Import a module of another package of ours, or fail with what to install.

    Args:
        module: The module to import.
        extra: The extra of dsrt-cli that brings it.

    Raises:
        typer.Exit: Code 2; the module, or one that it needs, is not installed.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        fail(f'this command needs {error.name}, which is not installed: pip install "dsrt-cli[{extra}]"')
