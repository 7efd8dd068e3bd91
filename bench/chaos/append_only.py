"""Loss of the end of an append-only file, as a power cut under `appendfsync everysec` leaves it."""

import random
from pathlib import Path

_INCREMENTS = "appendonlydir/*.incr.aof"
_MARK = b"#TS:"
"""Starts a line that dates what follows, in whole seconds: `aof-timestamp-enabled yes` writes it."""
_LOST_S = 1
_END = b"\r\n"


def cut_last_second(folder: Path, killed_at: int, drawn: random.Random) -> int:
    """Cut off what a server wrote in its last second, or, as often, a drawn part of that.

    The part begins with a command: inside one, or inside a transaction, the server cuts back to there by itself
    (`aof-load-truncated yes`, its default). As the marks count whole seconds, up to two seconds go, the most that
    `everysec` may lose.

    Args:
        folder: That of the server, which has ended.
        killed_at: Seconds since 1970.
        drawn: Decides how much is cut off.

    Returns:
        The number of bytes that were cut off.
    """
    file = max(folder.glob(_INCREMENTS), key=lambda path: int(path.name.split(".")[-3]))
    written = file.read_bytes()
    begins = commands_since(written, killed_at - _LOST_S)
    if not begins:
        return 0
    kept = drawn.choice((begins[0], drawn.choice(begins)))
    with file.open("r+b") as opened:
        opened.truncate(kept)
    return len(written) - kept


def commands_since(written: bytes, second: int) -> list[int]:
    """The offsets at which the commands of this second since 1970 and of later ones begin."""
    begins: list[int] = []
    at, dated = 0, 0
    while at < len(written):
        if written.startswith(_MARK, at):
            end = written.index(_END, at)
            at, dated = end + len(_END), int(written[at + len(_MARK) : end])
            continue
        if dated >= second:
            begins.append(at)
        at = _after_command(written, at)
    return begins


def _after_command(written: bytes, at: int) -> int:
    """The offset behind the command at `at`: `*2 $3 SET …`, each part on a line of its own."""
    words, at = _number(written, at)
    for _ in range(words):
        length, at = _number(written, at)
        at += length + len(_END)
    return at


def _number(written: bytes, at: int) -> tuple[int, int]:
    end = written.index(_END, at)
    return int(written[at + 1 : end]), end + len(_END)
