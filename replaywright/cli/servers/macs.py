"""MACs of starts, schedules, batches and updates that commands and the Python client send."""

import json
from typing import Any

from temporalio.api.common.v1 import Payload

from replaywright.cli.servers.connect import Backend
from replaywright.domain.common.base import Record
from replaywright.domain.secrets.starts import MAC, sign_start, sign_update
from replaywright.stack.keyring import known_signer


def start_memo(here: Backend, kind: str, run_id: str, given: object) -> dict[str, str]:
    """Build the memo that signs the start of a workflow with the keys of this process; empty without keys.

    Raises:
        SettingsInvalid: keys are configured and cannot be read.
    """
    mac = sign_start(known_signer(here.settings), kind=kind, run_id=run_id, given=_sent(here, given))
    return {MAC: mac} if mac else {}


def update_arguments(here: Backend, run_id: str, *, update: str, once: str, asked: Record) -> list[Any]:
    """Build the arguments of an update with the id `once`, its MAC last.

    Raises:
        SettingsInvalid: keys are configured and cannot be read.
    """
    signer, tenant = known_signer(here.settings), here.settings.tenant
    mac = sign_update(signer, tenant, kind=update, run_id=run_id, update=once, given=_sent(here, asked))
    return [asked, mac]


def _sent(here: Backend, value: object) -> Any:
    """Return the JSON that Temporal is sent for `value`."""
    payload: Payload = here.client.data_converter.payload_converter.to_payload(value)
    return json.loads(payload.data)
