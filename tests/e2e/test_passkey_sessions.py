"""A session whose sign-in is a passkey: registered by a task, kept, and used after the site has forgotten everybody."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from bench.team.sessions import kept_in_clear, order
from replaywright.cli.runs.starting import Order
from replaywright.cli.servers.artifacts import artifact_store_of
from replaywright.cli.tasks.taskfile import new_run_id
from replaywright.domain.site_session.commands import workflow_id
from replaywright.domain.site_session.leases import Leases
from replaywright.domain.site_session.passkeys import Passkeys
from replaywright.domain.task.tasks import parse_task
from replaywright.settings import Settings, load_settings
from tests.e2e.lab import Lab
from tests.e2e.passkey_site import PasskeySite, passkeys_served

pytestmark = [pytest.mark.slow, pytest.mark.long]


def click(instruction: str, name: str, **more: Any) -> dict[str, Any]:
    return {"action": "click", "instruction": instruction, "target": {"role": "button", "name": name}, **more}


def written(folder: Path, site: PasskeySite, steps: list[dict[str, Any]]) -> Path:
    """The file of sessions, with these steps that sign in."""
    sign_in = {"task": "sign-in", "url": f"{site.url}/login", "steps": steps}
    (folder / "sign-in.yaml").write_text(yaml.safe_dump(sign_in), encoding="utf-8")
    signed_in = {"url": f"{site.url}/account", "expect": [{"text_contains": "Signed in as ada"}]}
    session = {"sign_in": "sign-in.yaml", "signed_in": signed_in, "passkeys": True}
    file = folder / "sessions.yaml"
    file.write_text(yaml.safe_dump({"sessions": {"crm-ada": session}}), encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def site() -> Iterator[PasskeySite]:
    with passkeys_served() as site:
        yield site


@pytest.fixture(scope="module")
def lab_settings(site: PasskeySite, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    password = {
        "action": "fill",
        "instruction": "the password",
        "target": {"label": "Password"},
        "value": "open sesame",
    }
    steps = [password, click("sign in", "Sign in", effect="idempotent")]
    file = written(tmp_path_factory.mktemp("sessions"), site, steps)
    return load_settings().model_copy(update={"sessions": file})


@pytest.fixture(scope="module")
async def lab(own_lab: Lab) -> Lab:
    await own_lab.served()
    return own_lab


async def test_a_passkey_that_a_task_registers_signs_in_later_and_is_nowhere_in_clear(
    lab: Lab, site: PasskeySite, lab_settings: Settings
) -> None:
    step = click("add a passkey", "Add a passkey", effect="commit", expect=[{"text_contains": "registered"}])
    data = {"task": "enrol", "session": "crm-ada", "url": f"{site.url}/account", "steps": [step]}
    enrol = parse_task(data, "the test")
    enrolled = await lab.run(Order(enrol, {}, new_run_id(enrol, {})))
    assert lab_settings.sessions is not None
    steps = [
        click("use a passkey", "Use a passkey", effect="idempotent", expect=[{"text_contains": "Signed in as ada"}])
    ]
    written(lab_settings.sessions.parent, site, steps)
    endings = []
    for number in range(2):
        site.live.clear()
        endings.append(await lab.run(order(site, f"note {number}")))

    assert [ending.status for ending in (enrolled, *endings)] == ["done"] * 3, [e.result.message for e in endings]
    assert site.notes == ["note 0", "note 1"]
    assert site.passwords == 1
    assert len(site.counters) == 3
    assert site.counters == sorted(set(site.counters))
    handle = lab.stage.place.client.get_workflow_handle(workflow_id(lab.place.settings.tenant, "crm-ada"))
    leases: Leases = await handle.query("standing", result_type=Leases)
    assert leases.passkeys is not None
    kept = Passkeys.model_validate_json(await artifact_store_of(lab.place.settings).get(leases.passkeys.digest))
    keys = [each.private_key for each in kept.passkeys]
    assert len(keys) == 1
    assert kept_in_clear(lab.stage.home, keys) == []
