import copy
import errno
import pickle

import pytest

from dsrt_format import Problem, errors

PLACED = [errors.FormatError, errors.DataError, errors.UnknownVersionError, errors.NotPublishedError]
PLAIN = [
    (errors.StaleCacheError, ValueError),
    (errors.CacheLockedError, BlockingIOError),
    (errors.CacheExistsError, FileExistsError),
    (errors.SchemaError, ValueError),
    (errors.StateMismatchError, ValueError),
    (errors.WorkerError, RuntimeError),
    (errors.InternalError, RuntimeError),
]


@pytest.mark.parametrize("cls", PLACED)
@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda e: pickle.loads(pickle.dumps(e))])
def test_an_error_with_a_place_survives_pickling(cls, duplicate):
    error = cls("the checksum differs", rule="R033", cache="/c/x", field="image", shard=2, sample=17)
    error.add_note("a note")
    twin = duplicate(error)
    assert type(twin) is cls
    assert (twin.rule, twin.cache, twin.field, twin.shard, twin.sample) == ("R033", "/c/x", "image", 2, 17)
    assert str(twin) == str(error)
    assert twin.__notes__ == ["a note"]


def test_the_text_names_the_rule_and_the_place_once():
    error = errors.DataError(
        "the checksum differs", rule="R033", cache="/c/x", field="image", shard=0, sample=0
    )
    assert str(error) == "R033: the checksum differs (cache '/c/x', field 'image', shard 0, sample 0)"
    assert error.args == ("the checksum differs",)
    assert str(errors.FormatError("too long", rule="R001")) == "R001: too long"


def test_the_text_cuts_the_name_that_a_damaged_manifest_gives_a_field():
    error = errors.FormatError("illegal", rule="R007", field="x" * 10_000)
    assert str(error) == f"R007: illegal (field '{'x' * 80}')"
    assert error.field == "x" * 10_000


def test_a_cache_that_is_not_there_is_a_file_that_is_not_found():
    error = errors.NotPublishedError("no manifest.json", cache="/c/x")
    assert isinstance(error, FileNotFoundError)
    assert isinstance(error, ValueError)
    assert error.errno == errno.ENOENT
    assert error.rule == "R000"
    assert pickle.loads(pickle.dumps(error)).errno == errno.ENOENT


@pytest.mark.parametrize(("cls", "builtin"), PLAIN)
def test_plain_errors_are_dsrt_errors_and_builtins_and_survive_pickling(cls, builtin):
    error = cls("what, where, what to do")
    assert isinstance(error, errors.DsrtError)
    assert isinstance(error, builtin)
    twin = pickle.loads(pickle.dumps(error))
    assert type(twin) is cls
    assert str(twin) == "what, where, what to do"
    assert getattr(twin, "errno", None) == getattr(error, "errno", None)


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda e: pickle.loads(pickle.dumps(e))])
def test_the_end_of_a_worker_survives_pickling_with_its_circumstances(duplicate):
    killed = duplicate(errors.WorkerError("killed by SIGKILL (9)", signal=9, batch=17))
    assert (str(killed), killed.exit, killed.signal, killed.batch) == ("killed by SIGKILL (9)", None, 9, 17)
    ended = duplicate(errors.WorkerError("ended", exit=3))
    assert (ended.exit, ended.signal, ended.batch) == (3, None, None)


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda e: pickle.loads(pickle.dumps(e))])
def test_what_was_found_beside_an_unread_file_survives_pickling(duplicate):
    problem = Problem("R033", "/c/x", "image", 2, 17, "the checksum differs")
    unread = [PermissionError(13, "Permission denied", name) for name in ("a", "b")]
    error = duplicate(errors.UnreadError("/c/x", unread, [problem]))
    assert isinstance(error, errors.DsrtError)
    assert isinstance(error, OSError)
    assert (error.errno, error.strerror, error.filename) == (13, "Permission denied", "a")
    assert (error.cache, error.problems) == ("/c/x", [problem])
    assert [(type(e), e.errno, e.filename) for e in error.unread] == [
        (PermissionError, 13, "a"),
        (PermissionError, 13, "b"),
    ]
    assert str(error).startswith("cache '/c/x': [Errno 13] Permission denied: 'a' and 1 more")


def test_errors_about_files_have_their_errno():
    assert errors.CacheExistsError("x").errno == errno.EEXIST
    assert errors.CacheLockedError("x").errno == errno.EWOULDBLOCK


def test_every_public_error_is_exported():
    import dsrt_format

    for name in errors.__all__:
        assert getattr(dsrt_format, name) is getattr(errors, name)
