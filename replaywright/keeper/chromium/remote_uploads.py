"""Files for a field of a page whose browser is on another host: their bytes go with the commands.

A script makes the files in the page's process, so nothing of them is written to the browser's host. The events of the
field are a script's, too (`isTrusted` is false).
"""

import asyncio
import base64
import mimetypes
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from replaywright.keeper.chromium.multiplexer import CommandRefused

BLOCK_BYTES: Final = 4 * 1024 * 1024
_TAKE: Final = """function (index, block) {
  const files = (this[Symbol.for("files on their way")] ??= []);
  (files[index] ??= []).push(Uint8Array.from(atob(block), (one) => one.charCodeAt(0)));
}"""
_GIVE: Final = """function (files) {
  const kept = this[Symbol.for("files on their way")] ?? [];
  delete this[Symbol.for("files on their way")];
  const transfer = new DataTransfer();
  files.forEach(({ name, ...facts }, index) => transfer.items.add(new File(kept[index] ?? [], name, facts)));
  this.files = transfer.files;
  this.dispatchEvent(new Event("input", { bubbles: true, composed: true }));
  this.dispatchEvent(new Event("change", { bubbles: true }));
}"""


async def upload_commands(params: Mapping[str, Any], folder: Path) -> AsyncIterator[tuple[str, Mapping[str, Any]]]:
    """Yield the commands that give a field the files of a `DOM.setFileInputFiles`.

    Args:
        params: of that command; the field is named by its `objectId`.
        folder: the folder that the files have to be in.

    Raises:
        CommandRefused: a file is elsewhere or cannot be read, or the field is named otherwise.
    """
    if "objectId" not in params:
        raise CommandRefused("the field of a remote browser is named by its objectId")
    files = [_inside(Path(file), folder) for file in params["files"]]
    try:
        for index, file in enumerate(files):
            with await asyncio.to_thread(file.open, "rb") as content:
                while block := await asyncio.to_thread(content.read, BLOCK_BYTES):
                    yield _on_field(params, _TAKE, index, base64.b64encode(block).decode())
        facts = [
            {
                "name": file.name,
                "type": mimetypes.guess_type(file.name)[0] or "",
                "lastModified": file.stat().st_mtime_ns // 1_000_000,
            }
            for file in files
        ]
    except OSError as error:
        raise CommandRefused(f"a file cannot be read: {error.strerror}") from error
    yield _on_field(params, _GIVE, facts)


def _inside(file: Path, folder: Path) -> Path:
    """Return the file if it is in the folder.

    Raises:
        CommandRefused: it is not.
    """
    if not file.resolve().is_relative_to(folder.resolve()):
        raise CommandRefused("only the session's own copies of files are given to a page")
    return file


def _on_field(params: Mapping[str, Any], function: str, *arguments: object) -> tuple[str, Mapping[str, Any]]:
    values: Sequence[Mapping[str, Any]] = [{"value": value} for value in arguments]
    call = {"objectId": params["objectId"], "functionDeclaration": function, "arguments": values}
    return "Runtime.callFunctionOn", call
