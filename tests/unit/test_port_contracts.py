"""What every implementation of a port keeps, run for the shipped fakes and for the real parts that need no browser."""

import hashlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

from cache.connection import open_redis
from cache.steps import RedisStepStore
from replaywright.artifacts.store import ArtifactStore
from replaywright.domain.common.templates import SECRET_PREFIX
from replaywright.domain.skill.entries import ActionCacheEntry, EntryStatus
from replaywright.domain.step.outcomes import Lookup, Status, StepOutcome
from replaywright.domain.task.actions import Action, Effect
from replaywright.errors import ArtifactMissing, ArtifactsUnavailable, DoneElsewhere, Fenced, SecretMissing
from replaywright.ports.browser import Browsers, BrowserSession
from replaywright.ports.keepers import Keepers
from replaywright.ports.ledger import Intent, Known, Recording, StepStore
from replaywright.ports.models import TargetProposer
from replaywright.ports.stores import Artifacts, Overrides, Secrets
from replaywright.testing.browser import FakeBrowsers, FakeBrowserSession
from replaywright.testing.keepers import FakeKeepers
from replaywright.testing.models import FakeProposer
from replaywright.testing.steps import FakeStepStore
from replaywright.testing.stores import FakeArtifacts, FakeOverrides, FakeSecrets
from replaywright.vault.environment import EnvironmentSecrets

if TYPE_CHECKING:  # the type checker compares signatures

    def _fakes(store: FakeStepStore, session: FakeBrowserSession) -> None:
        _store: StepStore = store
        _artifacts: Artifacts = FakeArtifacts()
        _proposer: TargetProposer = FakeProposer()
        _secrets: Secrets = FakeSecrets()
        _session: BrowserSession = session
        _browsers: Browsers = FakeBrowsers()
        _keepers: Keepers = FakeKeepers()
        _overrides: Overrides = FakeOverrides()


# ---------------------------------------------------------------------------------------------- step store

STEP: dict[str, Any] = {"tenant": "acme", "lineage": "l1", "fingerprint": "f1"}
KEY = "ab" * 32
OTHER_KEY = "cd" * 32


@pytest.fixture
def fake_store() -> StepStore:
    return FakeStepStore()


@pytest.fixture
async def redis_store(redis_url: str) -> AsyncIterator[StepStore]:
    async with open_redis(redis_url) as client:
        yield RedisStepStore(client)


@pytest.fixture
async def cluster_store(cluster_url: str) -> AsyncIterator[StepStore]:
    async with open_redis(cluster_url) as client:
        yield RedisStepStore(client)


@pytest.fixture(params=["fake_store", "redis_store", "cluster_store"])
def store(request: pytest.FixtureRequest) -> StepStore:
    found: StepStore = request.getfixturevalue(request.param)
    return found


def outcome(**fields: Any) -> StepOutcome:
    defaults = {"status": Status.DONE, "fingerprint": "f1", "content_key": KEY, "effect": Effect.COMMIT}
    return StepOutcome.model_validate({**defaults, **fields})


def recording(run_id: str = "r1", epoch: int = 1, **fields: Any) -> Recording:
    defaults = {"lineage": "l1", "tenant": "acme", "sequence": 0, "outcome": outcome()}
    return Recording.model_validate({"run_id": run_id, "epoch": epoch, **defaults, **fields})


def entry(content_key: str = KEY, **fields: Any) -> ActionCacheEntry:
    defaults = {"action_type": Action.CLICK, "instruction": "the send button", "tag": "button", "name": "Send"}
    return ActionCacheEntry.model_validate({"content_key": content_key, **defaults, **fields})


async def known(store: StepStore, run_id: str = "r1", content_key: str = "", **scope: str) -> Known:
    return await store.look_up(**{**STEP, **scope}, run_id=run_id, content_key=content_key)


async def learn(store: StepStore, run_id: str, candidate: ActionCacheEntry, *, promote: bool = True) -> None:
    await store.record(recording(run_id, lineage=run_id, outcome=outcome(fingerprint=uuid4().hex), entry=candidate))
    if promote:
        await store.promote(tenant="acme", run_id=run_id, content_keys=[candidate.content_key])


async def test_nothing_is_known_of_a_new_step(store: StepStore) -> None:
    assert await known(store, content_key=KEY) == Known()


async def test_an_intent_is_granted_once_and_again_to_the_same_attempt(store: StepStore) -> None:
    first = await store.intend(Intent(**STEP, epoch=1, attempt="a"))
    repeated = await store.intend(Intent(**STEP, epoch=1, attempt="a"))

    assert (first.state, repeated.state) == ("INTENT", "INTENT")
    assert (await known(store)).state == "INTENT"
    assert (await known(store)).epoch == 1


@pytest.mark.parametrize("epoch", [0, 1, 2])
async def test_an_open_intent_fences_every_other_attempt_whatever_its_epoch(store: StepStore, epoch: int) -> None:
    await store.intend(Intent(**STEP, epoch=1, attempt="a"))

    with pytest.raises(Fenced):
        await store.intend(Intent(**STEP, epoch=epoch, attempt="b"))


async def test_a_recorded_outcome_is_what_every_later_attempt_gets(store: StepStore) -> None:
    await store.intend(Intent(**STEP, epoch=1, attempt="a"))
    await store.record(recording())

    again = await store.intend(Intent(**STEP, epoch=2, attempt="b"))

    assert (again.state, again.outcome) == ("COMMITTED", outcome())
    assert (await known(store)).outcome == outcome()


async def test_recording_again_changes_nothing(store: StepStore) -> None:
    await store.record(recording())
    await store.record(recording())

    assert (await known(store)).outcome == outcome()


async def test_what_is_written_again_stands_in_the_trace_once(store: StepStore) -> None:
    written = recording()

    await store.record(written)
    await store.record(written)
    await store.record(recording())

    assert len(await store.trace(tenant=STEP["tenant"], lineage=STEP["lineage"])) == 2


async def test_a_step_that_was_not_done_leaves_no_outcome(store: StepStore) -> None:
    await store.record(recording(outcome=outcome(status=Status.MISSED)))

    assert (await known(store)).outcome is None
    assert (await known(store)).state == ""


async def test_after_the_fence_the_old_attempt_can_neither_intend_nor_record(store: StepStore) -> None:
    await store.intend(Intent(**STEP, epoch=1, attempt="a"))
    before = await store.fence(**STEP, epoch=2)

    with pytest.raises(Fenced):
        await store.intend(Intent(**STEP, epoch=1, attempt="a"))
    with pytest.raises(Fenced):
        await store.record(recording(epoch=1))
    after = await known(store)

    assert (before.state, before.epoch) == ("INTENT", 1)
    assert (after.state, after.epoch, after.outcome) == ("RESOLVING", 2, None)
    assert after.late == outcome()


async def test_a_fence_repeated_answers_the_same(store: StepStore) -> None:
    await store.intend(Intent(**STEP, epoch=1, attempt="a"))

    first, second = await store.fence(**STEP, epoch=2), await store.fence(**STEP, epoch=2)

    assert first == second


async def test_the_epoch_never_falls(store: StepStore) -> None:
    await store.intend(Intent(**STEP, epoch=3, attempt="a"))

    for epoch in (1, 2, 3):
        with pytest.raises(Fenced):
            await store.fence(**STEP, epoch=epoch)
    assert (await known(store)).epoch == 3


async def test_a_committed_step_is_not_fenced(store: StepStore) -> None:
    await store.record(recording())

    before = await store.fence(**STEP, epoch=5)

    assert (before.state, before.outcome) == ("COMMITTED", outcome())
    assert (await known(store)).state == "COMMITTED"


async def test_only_a_resolution_makes_room_for_another_intent(store: StepStore) -> None:
    await store.intend(Intent(**STEP, epoch=1, attempt="a"))
    await store.fence(**STEP, epoch=2)
    with pytest.raises(Fenced):
        await store.intend(Intent(**STEP, epoch=3, attempt="b"))

    await store.settle(**STEP, epoch=2, state="NOT_DONE", who="black box")

    with pytest.raises(Fenced):
        await store.intend(Intent(**STEP, epoch=2, attempt="b"))
    assert (await store.intend(Intent(**STEP, epoch=3, attempt="b"))).state == "INTENT"


async def test_a_success_reported_after_the_verdict_forbids_the_next_dispatch(store: StepStore) -> None:
    await store.intend(Intent(**STEP, epoch=1, attempt="a"))
    await store.fence(**STEP, epoch=2)
    await store.settle(**STEP, epoch=2, state="NOT_DONE", who="probe")
    with pytest.raises(Fenced):
        await store.record(recording(epoch=1))

    with pytest.raises(Fenced):
        await store.intend(Intent(**STEP, epoch=3, attempt="b"))


async def test_settling_needs_an_open_resolution_of_the_same_epoch(store: StepStore) -> None:
    with pytest.raises(Fenced):
        await store.settle(**STEP, epoch=1, state="NOT_DONE", who="probe")
    await store.intend(Intent(**STEP, epoch=1, attempt="a"))
    with pytest.raises(Fenced):
        await store.settle(**STEP, epoch=1, state="NOT_DONE", who="probe")
    await store.fence(**STEP, epoch=2)
    with pytest.raises(Fenced):
        await store.settle(**STEP, epoch=1, state="NOT_DONE", who="probe")

    await store.settle(**STEP, epoch=2, state="NOT_DONE", who="probe")
    await store.settle(**STEP, epoch=2, state="NOT_DONE", who="probe")

    assert (await known(store)).state == "NOT_DONE"


async def test_a_person_ends_what_was_escalated(store: StepStore) -> None:
    await store.fence(**STEP, epoch=2)
    with pytest.raises(Fenced):
        await store.settle(**STEP, epoch=2, state="ABANDONED", who="ada")
    await store.settle(**STEP, epoch=2, state="ESCALATED", who="probe")

    await store.settle(**STEP, epoch=2, state="ABANDONED", who="ada")

    with pytest.raises(Fenced):
        await store.intend(Intent(**STEP, epoch=9, attempt="b"))


async def test_a_committed_step_cannot_be_settled_otherwise(store: StepStore) -> None:
    await store.record(recording())

    with pytest.raises(Fenced):
        await store.settle(**STEP, epoch=1, state="NOT_DONE", who="ada")

    assert (await known(store)).state == "COMMITTED"


@pytest.mark.parametrize("other", [{"tenant": "other"}, {"lineage": "l2"}, {"fingerprint": "f2"}])
async def test_tenants_lineages_and_steps_are_apart(store: StepStore, other: dict[str, str]) -> None:
    await store.record(recording())

    assert (await known(store, **other)).state == ""
    assert (await store.intend(Intent(**{**STEP, **other}, epoch=1, attempt="a"))).state == "INTENT"


OTHER = {**STEP, "fingerprint": "f2"}


async def test_an_act_belongs_to_one_step_of_its_lineage_and_is_taken_over_only_from_that_one(store: StepStore) -> None:
    await store.intend(Intent(**STEP, epoch=1, attempt="a", act="send"))
    for over in ("", "f9"):
        with pytest.raises(DoneElsewhere) as refusal:
            await store.intend(Intent(**OTHER, epoch=2, attempt="b", act="send", over=over))
        assert refusal.value.fingerprint == "f1"
    assert (await known(store, fingerprint="f2")).state == ""

    granted = await store.intend(Intent(**OTHER, epoch=2, attempt="b", act="send", over="f1"))

    assert granted.state == "INTENT"
    assert await store.acts(tenant="acme", lineage="l1") == {"send": "f2"}
    with pytest.raises(DoneElsewhere):
        await store.intend(Intent(**{**STEP, "fingerprint": "f3"}, epoch=3, attempt="c", act="send", over="f1"))


async def test_an_act_of_another_lineage_is_another_one(store: StepStore) -> None:
    await store.intend(Intent(**STEP, epoch=1, attempt="a", act="send"))

    granted = await store.intend(Intent(**{**OTHER, "lineage": "l2"}, epoch=1, attempt="b", act="send"))

    assert granted.state == "INTENT"
    assert await store.acts(tenant="acme", lineage="l3") == {}


@pytest.mark.parametrize(
    ("effect", "acts"), [(Effect.COMMIT, {"send": "f1"}), (Effect.IDEMPOTENT, {}), (Effect.READ, {})]
)
async def test_a_recorded_success_keeps_its_act_if_it_must_not_be_repeated(
    store: StepStore, effect: Effect, acts: dict[str, str]
) -> None:
    await store.record(recording(act="send", outcome=outcome(effect=effect)))

    assert await store.acts(tenant="acme", lineage="l1") == acts


async def test_a_candidate_may_belong_to_a_lineage(store: StepStore) -> None:
    await store.record(recording("r1", owner="l1", entry=entry()))

    assert (await known(store, "r1", KEY)).entry is None
    assert (await known(store, "l1", KEY)).entry is not None


async def candidates(store: StepStore, run_id: str, taker: str = "") -> list[str]:
    found = await store.candidates(tenant="acme", run_id=run_id, content_keys=[KEY, OTHER_KEY], taker=taker)
    return [f"{entry.name} of {entry.run_id}" for entry in found]


async def test_the_candidates_of_other_runs_are_given_to_one_attempt_and_to_it_again(store: StepStore) -> None:
    await learn(store, "r1", entry(name="A"), promote=False)
    await learn(store, "r2", entry(name="B"), promote=False)
    await learn(store, "r2", entry(OTHER_KEY, name="C"), promote=False)

    assert await candidates(store, "r1") == ["B of r2", "C of r2"]
    assert await candidates(store, "r3") == ["B of r2", "A of r1", "C of r2"]
    assert await candidates(store, "r3", "x") == await candidates(store, "r3", "x") == ["B of r2", "A of r1", "C of r2"]
    assert await candidates(store, "r3", "y") == await candidates(store, "r4") == []
    assert (await known(store, "r1", KEY)).entry is not None
    assert await store.promote(tenant="acme", run_id="r1", content_keys=[KEY]) == (1, 0)


async def test_what_waits_for_a_person_and_what_is_older_than_the_active_version_is_no_candidate(
    store: StepStore,
) -> None:
    await learn(store, "r1", entry(name="old"), promote=False)
    await learn(store, "r2", entry(name="active"))
    await learn(store, "r3", entry(name="held", hold=True), promote=False)
    await learn(store, "r4", entry(name="new"), promote=False)

    assert await candidates(store, "r5") == ["new of r4"]
    await store.invalidate(tenant="acme", content_key=KEY, reason="wrong")
    assert await candidates(store, "r5") == []


async def test_a_candidate_is_seen_by_its_own_run_until_it_is_promoted(store: StepStore) -> None:
    await learn(store, "r1", entry(), promote=False)
    own, others = await known(store, "r1", KEY), await known(store, "r2", KEY)

    counts = await store.promote(tenant="acme", run_id="r1", content_keys=[KEY, OTHER_KEY])
    after = await known(store, "r2", KEY)

    assert own.entry is not None
    assert (own.entry.name, own.entry.status, own.entry.run_id) == ("Send", EntryStatus.CANDIDATE, "r1")
    assert others.entry is None
    assert counts == (1, 0)
    assert after.entry is not None
    assert after.entry.status is EntryStatus.ACTIVE
    assert await store.promote(tenant="acme", run_id="r1", content_keys=[KEY]) == (1, 0)


async def test_a_run_promotes_only_its_own_candidates(store: StepStore) -> None:
    await learn(store, "r1", entry(), promote=False)

    assert await store.promote(tenant="acme", run_id="r2", content_keys=[KEY]) == (0, 0)
    assert await store.promote(tenant="other", run_id="r1", content_keys=[KEY]) == (0, 0)
    assert (await known(store, "r2", KEY)).entry is None


async def test_a_held_candidate_waits_for_a_person_and_the_old_version_stays(store: StepStore) -> None:
    await learn(store, "r1", entry())
    await learn(store, "r2", entry(name="Send message", hold=True), promote=False)

    counts = await store.promote(tenant="acme", run_id="r2", content_keys=[KEY])

    used = (await known(store, "r3", KEY)).entry
    assert counts == (0, 1)
    assert used is not None
    assert used.name == "Send"


async def test_a_new_version_replaces_the_active_one_and_the_old_is_kept(store: StepStore) -> None:
    await learn(store, "r1", entry())
    await learn(store, "r2", entry(name="Send message"))

    versions = await store.versions(tenant="acme", content_key=KEY)
    [info] = await store.entries(tenant="acme")

    assert [(v.version, v.name, v.status) for v in versions] == [
        (1, "Send", EntryStatus.RETIRED),
        (2, "Send message", EntryStatus.ACTIVE),
    ]
    assert (info.content_key, info.entry.version, info.versions) == (KEY, 2, 2)


async def test_recording_the_same_candidate_again_makes_no_second_version(store: StepStore) -> None:
    await store.record(recording(entry=entry()))
    await store.record(recording(entry=entry()))

    assert len(await store.versions(tenant="acme", content_key=KEY)) == 1


async def test_the_beginning_of_a_key_is_enough(store: StepStore) -> None:
    await learn(store, "r1", entry())
    await learn(store, "r2", entry(OTHER_KEY))

    assert [v.content_key for v in await store.versions(tenant="acme", content_key="ab")] == [KEY]
    assert await store.versions(tenant="acme", content_key="ef") == []
    assert await store.versions(tenant="other", content_key="ab") == []


async def test_an_invalidated_entry_is_not_used_any_more(store: StepStore) -> None:
    await learn(store, "r1", entry())
    await learn(store, "r2", entry(OTHER_KEY))

    count = await store.invalidate(tenant="acme", content_key=KEY[:6], reason="the site was rebuilt")

    assert count == 1
    assert (await known(store, "r1", KEY)).entry is None
    assert (await known(store, "r1", OTHER_KEY)).entry is not None
    assert [v.status for v in await store.versions(tenant="acme", content_key=KEY)] == [EntryStatus.RETIRED]


@pytest.mark.parametrize(
    ("lookup", "status", "counts"),
    [
        (Lookup(hit=True), Status.DONE, (1, 0, 0)),
        (Lookup(hit=True, healed=True), Status.DONE, (0, 0, 1)),
        (Lookup(reason="not_found"), Status.MISSED, (0, 1, 0)),
        (Lookup(hit=True, from_model=True), Status.DONE, (0, 0, 0)),
    ],
)
async def test_the_version_that_was_used_is_counted(
    store: StepStore, lookup: Lookup, status: Status, counts: tuple[int, int, int]
) -> None:
    await learn(store, "r1", entry())

    await store.record(recording("r2", outcome=outcome(status=status, lookup=lookup), used_version=1))

    used = (await known(store, "r2", KEY)).entry
    assert used is not None
    assert (used.hits, used.misses, used.heals) == counts
    assert bool(used.last_success) == (status is Status.DONE and not lookup.from_model)
    assert used.recent == ("1" if status is Status.DONE else "0")


async def test_a_failure_of_the_values_counts_neither_for_nor_against_a_step(store: StepStore) -> None:
    await learn(store, "r1", entry())
    failed = outcome(status=Status.UNMET, lookup=Lookup(hit=True))

    for run_id, told in (("r2", failed), ("r3", failed.model_copy(update={"of_values": True}))):
        await store.record(recording(run_id, outcome=told, used_version=1))

    used = (await known(store, "r4", KEY)).entry
    assert used is not None
    assert (used.hits, used.recent) == (1, "0")


async def test_recording_answers_with_what_is_known_of_the_next_step(store: StepStore) -> None:
    await learn(store, "r0", entry(OTHER_KEY))
    await store.record(recording(outcome=outcome(fingerprint="f2", extracted={"n": 1})))

    following = await store.record(recording(next_fingerprint="f2", next_content_key=OTHER_KEY))

    assert following.outcome is not None
    assert following.outcome.extracted == {"n": 1}
    assert following.entry is not None
    assert following.entry.content_key == OTHER_KEY


async def test_the_trace_keeps_lines_in_order_and_lineages_apart(store: StepStore) -> None:
    await store.append_trace(tenant="acme", lineage="l1", line={"kind": "start"})
    await store.record(recording(title="click {{to}}", sequence=4, trace={"site": "https://s"}))
    await store.append_trace(tenant="acme", lineage="l2", line={"kind": "other"})

    start, step = await store.trace(tenant="acme", lineage="l1")

    assert start["kind"] == "start"
    assert (step["kind"], step["title"], step["sequence"]) == ("step", "click {{to}}", 4)
    assert (step["site"], step["status"], step["runId"]) == ("https://s", "done", "r1")
    assert start["at"] <= step["at"]
    assert await store.trace(tenant="other", lineage="l1") == []


async def test_a_fenced_outcome_is_still_in_the_trace(store: StepStore) -> None:
    await store.fence(**STEP, epoch=2)
    with pytest.raises(Fenced):
        await store.record(recording(epoch=1))

    assert len(await store.trace(tenant="acme", lineage="l1")) == 1


# ------------------------------------------------------------------------------------------------- artifacts


@pytest.fixture(params=["fake", "local", "memory"])
def artifacts(request: pytest.FixtureRequest, tmp_path: Path) -> Artifacts:
    makers: dict[str, Callable[[], Artifacts]] = {
        "fake": FakeArtifacts,
        "local": lambda: ArtifactStore(str(tmp_path)),
        "memory": lambda: ArtifactStore(f"memory://{uuid4().hex}"),
    }
    return makers[request.param]()


@pytest.mark.parametrize("data", [b"", b"x", bytes(range(256)) * 400])
async def test_an_artifact_comes_back_under_its_digest(artifacts: Artifacts, data: bytes) -> None:
    digest = await artifacts.put(data)

    assert digest == hashlib.sha256(data).hexdigest() == await artifacts.put(data)
    assert await artifacts.get(digest) == data


async def test_a_file_is_kept_under_the_same_digest_as_its_bytes(artifacts: Artifacts, tmp_path: Path) -> None:
    data = bytes(range(256)) * 20_000
    source = tmp_path / "download"
    source.write_bytes(data)

    digest = await artifacts.put_file(source)
    again = await artifacts.put_file(source)

    assert digest == again == await artifacts.put(data)
    assert await artifacts.get(digest) == data
    assert source.read_bytes() == data


async def test_a_file_that_is_gone_is_said_to_be_unavailable(artifacts: Artifacts, tmp_path: Path) -> None:
    with pytest.raises(ArtifactsUnavailable):
        await artifacts.put_file(tmp_path / "missing")


@pytest.mark.parametrize("digest", ["0" * 64, "", "../x"])
async def test_an_unknown_artifact_is_missing(artifacts: Artifacts, digest: str) -> None:
    with pytest.raises(ArtifactMissing):
        await artifacts.get(digest)


# --------------------------------------------------------------------------------------------------- secrets


@pytest.fixture(params=["fake", "environment"])
def secrets(request: pytest.FixtureRequest) -> Secrets:
    if request.param == "fake":
        return FakeSecrets({"PASSWORD": "p&ss word"})
    return EnvironmentSecrets({f"{SECRET_PREFIX}PASSWORD": "p&ss word"})


def test_a_secret_is_resolved_by_name(secrets: Secrets) -> None:
    assert secrets.resolve("PASSWORD") == "p&ss word"


def test_a_missing_secret_names_its_variable(secrets: Secrets) -> None:
    with pytest.raises(SecretMissing, match=f"{SECRET_PREFIX}PIN"):
        secrets.resolve("PIN")


def test_a_secret_is_redacted_in_texts_and_data(secrets: Secrets) -> None:
    assert secrets.redact("p&amp;ss word, p%26ss+word") == "{{secret:PASSWORD}}, {{secret:PASSWORD}}"
    assert secrets.redact_data([{"p&ss word": 1}]) == [{"{{secret:PASSWORD}}": 1}]
