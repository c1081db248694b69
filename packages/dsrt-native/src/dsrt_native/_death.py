"""Why a worker process is no more, in words."""

import signal

from dsrt_format import WorkerError
from dsrt_native._processes import GRACE_SECONDS, UNGUARDED, Member
from dsrt_native._task import ADVICE

__all__ = ["death"]

_NATIVE = "a crash in native code; `python -X faulthandler` shows where"
_HINTS: dict[int, str] = {
    signal.SIGKILL: "perhaps out of memory, which the kernel's log would say",
    signal.SIGSEGV: _NATIVE,
    signal.SIGBUS: _NATIVE,
    signal.SIGABRT: _NATIVE,
    signal.SIGILL: _NATIVE,
    signal.SIGFPE: _NATIVE,
}


def death(member: Member) -> WorkerError:
    """Return the error about a worker that has ended by itself, or has closed its connection."""
    member.process.join(GRACE_SECONDS)
    code = member.process.exitcode
    batch = member.outstanding[0] if member.outstanding and member.ready else None
    if not member.ready:
        when = "while it was starting"
    elif batch is None:
        when = "while it was idle"
    else:
        when = f"while it computed request {batch}"
    who = f"worker process {member.process.pid}"
    if code is None:
        return WorkerError(f"{who} left {when}; how, the system does not say", batch=batch)
    if code < 0:
        hint = f": {_HINTS[-code]}" if -code in _HINTS else ""
        return WorkerError(
            f"{who} was killed by {_name(-code)} ({-code}) {when}{hint}", signal=-code, batch=batch
        )
    message = f"{who} ended with exit code {code} {when}"
    if code == UNGUARDED and not member.ready:
        message = (
            f"the main script starts worker processes when it is imported, which every worker does. {ADVICE}"
        )
    elif not member.ready:
        message += f"; what it wrote to standard error says why. {ADVICE}"
    return WorkerError(message, exit=code, batch=batch)


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "signal"
