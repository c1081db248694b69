"""The stub of the extension module says what is there, and nothing else."""

import ast
import inspect
from pathlib import Path

import dsrt_native
from dsrt_native import _native

STUB = ast.parse((Path(dsrt_native.__file__).parent / "_native.pyi").read_text())


def names(body):
    """Names that a stub's module or class defines, with their parameters where they are functions."""
    found = {}
    for node in body:
        if isinstance(node, ast.FunctionDef):
            arguments = node.args
            found[node.name] = [a.arg for a in arguments.posonlyargs + arguments.args + arguments.kwonlyargs]
        elif isinstance(node, ast.ClassDef):
            found[node.name] = None
        elif isinstance(node, ast.AnnAssign) and node.value is None:
            found[node.target.id] = None
    return found


def test_the_module_has_the_names_of_the_stub():
    there = {name for name in dir(_native) if not name.startswith("__")} | {
        "__version__",
        "__build_profile__",
    }
    assert names(STUB.body).keys() == there


def test_classes_have_the_members_of_the_stub():
    slots = {"__new__", "__len__", "__buffer__"}
    for node in STUB.body:
        if isinstance(node, ast.ClassDef):
            described = names(node.body)
            kind = getattr(_native, node.name)
            there = {name for name in vars(kind) if not name.startswith("__") or name == "__arrow_c_stream__"}
            assert described.keys() - slots == there
            for name, arguments in described.items():
                member = inspect.getattr_static(kind, name, None)
                if arguments is not None and inspect.isroutine(member) and name not in slots:
                    given = list(inspect.signature(getattr(kind, name)).parameters)
                    assert given == [a for a in arguments if a != "self" or "self" in given]


def test_functions_take_the_arguments_of_the_stub():
    for name, arguments in names(STUB.body).items():
        if arguments is not None:
            assert list(inspect.signature(getattr(_native, name)).parameters) == arguments
