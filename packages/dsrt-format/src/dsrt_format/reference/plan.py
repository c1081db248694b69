"""One step of a loader: the positions it hands out, which of them count, where the stream then stands."""

from typing import SupportsIndex

from dsrt_format.reference.order import integer

__all__ = ["plan"]


def plan(
    position: SupportsIndex, epoch_len: SupportsIndex, global_batch: SupportsIndex, last: str
) -> tuple[list[tuple[int, bool]], int]:
    """Return the elements of the step that begins at `position`, and the position after it.

    Window e holds the positions [e x epoch_len, (e+1) x epoch_len). With batch size B on each of W ranks,
    rank r gets the elements r x B .. r x B + B - 1.

    Args:
        position: The next position of the stream, 0 <= position < 2^62.
        epoch_len: The length of a window, >= 1.
        global_batch: B x W, >= 1.
        last: What becomes of a window's last step when it does not fill: ``"drop"`` leaves it out, ``"pad"``
            repeats the window from its start with elements that do not count, ``"short"`` makes it shorter
            (for W = 1).

    Returns:
        The pairs (position, valid) of the step, and the next position. Under drop the list is empty if too
        little is left of the window; the next position is then the start of the next window. It is so, too,
        right after a window's last full step.

    Raises:
        ValueError: An argument out of range, or `last` is drop and no batch fits into a window.
        TypeError: An argument is no integer.
    """
    position, epoch_len = integer("position", position), integer("epoch_len", epoch_len)
    global_batch = integer("global_batch", global_batch)
    if not 0 <= position < 2**62:
        raise ValueError(f"position is {position}; positions are 0 to 2^62-1")
    if epoch_len < 1 or global_batch < 1:
        raise ValueError(f"epoch_len is {epoch_len} and the global batch {global_batch}; both are at least 1")
    if last not in ("drop", "pad", "short"):
        raise ValueError(f"last is {last!r}; expected 'drop', 'pad' or 'short'")
    if last == "drop" and epoch_len < global_batch:
        raise ValueError(
            f"epoch_len {epoch_len} is less than the global batch {global_batch}: last='drop' would drop "
            "everything; use a smaller batch, a longer epoch_len or last='pad'"
        )
    start = position - position % epoch_len
    end = start + epoch_len
    if last == "drop" and end - position < global_batch:
        return [], end
    take = min(global_batch, end - position)
    step = [(position + i, True) for i in range(take)]
    if last == "pad":
        step += [(start + i % epoch_len, False) for i in range(global_batch - take)]
    following = position + take
    if last == "drop" and end - following < global_batch:
        following = end
    return step, following
