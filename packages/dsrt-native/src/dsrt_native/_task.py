"""How a task gets into a worker process, and what to do where it cannot."""

import contextlib
import functools
import io
import os
import pickle
import sys
from collections.abc import Callable, Iterator
from multiprocessing import process
from types import FunctionType, ModuleType
from typing import Any, TypeAlias

__all__ = ["ADVICE", "Load", "Task", "importable_main", "loading"]

Task: TypeAlias = Callable[[Any], Any]
Load: TypeAlias = Callable[[], Task]

ADVICE = (
    "Worker processes import the main script anew, and functions and classes by their names. So put these at "
    "the top of a module, and keep open files, connections and lambdas out of what is sent; guard what the "
    'script does with `if __name__ == "__main__":`'
)


class _Pickler(pickle.Pickler):
    """Pickles, and notes the names of the main module that unpickling needs."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file, 5)
        self.names: list[str] = []

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, type | FunctionType) and value.__module__ == "__main__":
            self.names.append(value.__qualname__)
        return NotImplemented


def loading(task: Task, start_method: str) -> Load:
    """Return a function that gives a worker the task.

    Raises:
        TypeError: The task cannot be sent to a process that begins anew. The message says what to do.
    """
    if start_method == "fork":
        return lambda: task
    file = io.BytesIO()
    pickler = _Pickler(file)
    try:
        pickler.dump(task)
    except Exception as error:
        raise TypeError(f"{task!r} cannot be sent to worker processes: {error}. {ADVICE}") from error
    if pickler.names and not _is_importable(sys.modules["__main__"]):
        raise TypeError(
            f"{pickler.names[0]!r} comes from a notebook, from standard input or from the command line, and "
            f"worker processes cannot import it from there. {ADVICE}"
        )
    return functools.partial(pickle.loads, file.getvalue())


@contextlib.contextmanager
def importable_main() -> Iterator[None]:
    """Have workers not try to import a main script that is no file, such as ``<stdin>``, in vain."""
    main = sys.modules["__main__"]
    path = getattr(main, "__file__", None)
    if path is None or _is_importable(main):
        yield
        return
    del main.__file__
    try:
        yield
    finally:
        main.__file__ = path


def _is_importable(main: ModuleType) -> bool:
    # The same two ways that multiprocessing knows.
    if getattr(getattr(main, "__spec__", None), "name", None) is not None:
        return True
    path = getattr(main, "__file__", None)
    return path is not None and os.path.exists(
        os.path.join(getattr(process, "ORIGINAL_DIR", None) or "", path)
    )
