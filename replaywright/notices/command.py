"""Deliveries of notices by a command of the operator's."""

import asyncio
import contextlib
import shlex

from replaywright.children import for_command
from replaywright.errors import NoticeFailed

LIMIT_S = 30.0
"""Time limit of the command."""
_EXCERPT_LIMIT = 300
"""Characters of what it writes on standard error that are told."""


class CommandNotices:
    """Deliveries through a command that gets each one as JSON on its standard input."""

    def __init__(self, command: str) -> None:
        """`command` is split as a shell would, and run without one.

        Raises:
            NoticeFailed: it cannot be split, or is empty.
        """
        try:
            self._words = shlex.split(command)
        except ValueError as exc:
            raise NoticeFailed(f"the command of notices {command!r} cannot be read: {exc}") from exc
        if not self._words:
            raise NoticeFailed("the command of notices is empty: name a program")

    async def tell(self, notice: str) -> None:
        """Run the command with `notice` on its standard input.

        Raises:
            NoticeFailed: it cannot be started, takes longer than 30 s, or ends with another status than 0.
        """
        name = self._words[0]
        try:
            process = await asyncio.create_subprocess_exec(
                *self._words,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.PIPE,
                env=for_command(),
            )
        except OSError as exc:
            raise NoticeFailed(f"the command of notices {name!r} cannot be started: {exc.strerror or exc}") from exc
        try:
            async with asyncio.timeout(LIMIT_S):
                _, errors = await process.communicate(notice.encode())
        except TimeoutError as exc:
            raise NoticeFailed(f"the command of notices {name!r} has not ended within {LIMIT_S:g} s") from exc
        finally:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
        if process.returncode:
            excerpt = errors.decode(errors="replace").strip()[:_EXCERPT_LIMIT]
            raise NoticeFailed(f"the command of notices {name!r} ended with status {process.returncode}: {excerpt}")
