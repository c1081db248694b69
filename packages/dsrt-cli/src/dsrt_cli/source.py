"""From the words MODULE:SOURCE to a source."""

import importlib
import inspect
import os
import sys
from typing import Any

import typer

__all__ = ["load_source"]

_HINT = "MODULE:SOURCE"
_ATTRIBUTES = ("name", "fields", "metadata")


def load_source(words: str) -> Any:
    """Import what MODULE:SOURCE names; the current directory is importable.

    Args:
        words: A module, a colon, and an attribute of it (dots go deeper): a source, or a class or function
            that gives one when called without arguments.

    Raises:
        typer.BadParameter: There is no such thing, or it is no source. Errors of the module's own code are
            raised as they are.
    """
    module_name, colon, attribute = words.partition(":")
    if not (colon and attribute and all(part.isidentifier() for part in module_name.split("."))):
        raise _bad(f"{words!r}: expected a module (no path), a colon and a name, such as pets:Pets")
    found: Any = _module(module_name)
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise _bad(f"{module_name} has no {attribute!r}; {_what_there_is(found)}")
        found = getattr(found, part)
    if inspect.isclass(found) or (inspect.isroutine(found) and not _is_source(found)):
        found = _called(found, words)
    if not _is_source(found):
        lacks = " and ".join(name for name in _ATTRIBUTES if not hasattr(found, name))
        raise _bad(f"{words} is no source but {type(found).__name__}: it has no {lacks}")
    return found


def _module(name: str) -> Any:
    if (here := os.getcwd()) not in sys.path:
        sys.path.insert(0, here)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if name != missing and not name.startswith(f"{missing}."):
            raise
        raise _bad(
            f"there is no module {name!r} in the current directory or where Python looks for modules"
        ) from None


def _called(found: Any, words: str) -> Any:
    try:
        inspect.signature(found).bind()
    except (TypeError, ValueError) as error:  # the latter of C code that has no signature
        raise _bad(
            f"{words} cannot be called without arguments ({error}); write a function that needs none and "
            "returns the source"
        ) from None
    return found()


def _is_source(found: Any) -> bool:
    return all(hasattr(found, name) for name in _ATTRIBUTES)


def _what_there_is(holder: Any) -> str:
    # What has slots, or is written in C, may have no __dict__.
    held = getattr(holder, "__dict__", {}).items()
    names = [name for name, value in held if not name.startswith("_") and _is_source(value)]
    return f"sources there: {', '.join(names)}" if names else "nothing there has a name, fields and metadata"


def _bad(message: str) -> typer.BadParameter:
    return typer.BadParameter(message, param_hint=_HINT)
