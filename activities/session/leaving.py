"""Leaving pages before their browser is closed: some send only then."""

import asyncio
import time
import uuid
from typing import Final

from replaywright.ports.browser import BrowserSession
from replaywright.ports.keepers import CommitGate

LEAVE_MS: Final = 5_000
"""Time limit for leaving pages."""
LEFT_MS: Final = 3_000
"""Time limit for their last requests and the answers."""
_LOOKS: Final = 2
"""Times in a row that nothing may be awaited: the keeper hears of a request a moment after the page is left."""
_LOOK_EVERY_S: Final = 0.05


async def leave_pages(browser: BrowserSession, gate: CommitGate) -> bool:
    """Leave all pages, and wait until what they send then is answered; False where that takes too long.

    Raises:
        SessionLost: the browser is gone, or its gate is closed and stays so.
    """
    op_id = f"leaving/{uuid.uuid4().hex}"
    await gate.arm(op_id, within_ms=LEAVE_MS + LEFT_MS, hold_safe=False)
    await gate.permit(op_id)
    is_left = await browser.leave(LEAVE_MS)
    ends, looks = time.monotonic() + LEFT_MS / 1000, 0
    while looks < _LOOKS:
        if time.monotonic() > ends:
            return False
        await asyncio.sleep(_LOOK_EVERY_S)
        looks = 0 if (await gate.wait_held(op_id, 0)).awaits_answer else looks + 1
    return is_left
