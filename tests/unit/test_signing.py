"""Keys, what is derived from them, and what a signature is of."""

import ast
import base64
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from replaywright.cli.commands import app
from replaywright.domain.secrets.signing import Fault, Key, Signed, Signer, parse_keys, written_key
from replaywright.domain.secrets.starts import sign_start, sign_update
from replaywright.errors import SettingsInvalid
from replaywright.settings import Settings, load_settings
from replaywright.stack.keyring import artifact_keys_of, known_signer, own_keys_file, signer_of

ROOT = Path(__file__).parents[2]
KEY, OTHER = Key("k1", b"1" * 32), Key("k2", b"2" * 32)
WHAT = Signed("acme", "entry", "rw:1:{acme/c}:entry", 1, {"json": "d", "run": "r"})

texts = st.text(max_size=20).filter(lambda text: text.isprintable())
records = st.builds(
    Signed, texts, texts, texts, st.integers(0, 9), st.dictionaries(texts, texts | st.integers(0, 9) | st.booleans())
)


@given(records, records)
def test_a_signature_is_of_one_record_only(one: Signed, other: Signed) -> None:
    signer = Signer((KEY,))
    signature = signer.sign(one)

    assert signer.fault(one, signature) is None
    same = repr(one) == repr(other)
    assert signer.fault(other, signature) == (None if same else Fault.ALTERED)


def test_the_first_key_signs_and_all_verify() -> None:
    old = Signer((KEY,)).sign(WHAT)
    both = Signer((OTHER, KEY))

    assert both.sign(WHAT).startswith("k2:")
    assert both.fault(WHAT, old) is None
    assert not both.is_current(old)
    assert Signer((OTHER,)).fault(WHAT, old) is Fault.UNKNOWN_KEY
    assert Signer((Key("k1", b"9" * 32),)).fault(WHAT, old) is Fault.ALTERED
    assert both.fault(WHAT, "") is Fault.UNSIGNED


def test_keys_are_derived_for_tenant_and_purpose() -> None:
    derived = {KEY.derived(purpose, tenant) for purpose in ("sign", "seal") for tenant in ("", "a", "b")}

    assert len(derived) == 6
    assert KEY.secret not in derived
    assert "1111" not in repr(KEY)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("secret", "key 1 is not written as id:base64"),
        (f"{written_key(KEY)},:x", "key 2 is not written"),
        ("k1:????", "key 'k1' is no base64"),
        ("k1:" + base64.b64encode(b"short").decode(), "key 'k1' has 5 bytes, expected 32"),
        (f"{written_key(KEY)},{written_key(KEY)}", "the id 'k1' stands in it twice"),
    ],
)
def test_what_is_wrong_with_keys_is_said_without_them(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=r"key|id") as error:
        parse_keys(text)

    assert str(error.value).startswith(said)
    assert base64.b64encode(KEY.secret).decode() not in str(error.value)


def test_keys_are_read_as_they_are_written() -> None:
    assert parse_keys(f"{written_key(KEY)}, {written_key(OTHER)}\n") == (KEY, OTHER)


# ------------------------------------------------------------------------------------------------- settings


def settings_of(tmp_path: Path, **fields: object) -> Settings:
    return load_settings(home=tmp_path / "home", **fields)


def test_one_machine_makes_a_key_of_its_own_and_keeps_it(tmp_path: Path) -> None:
    settings = settings_of(tmp_path)

    first, second = signer_of(settings), signer_of(settings)

    file = own_keys_file(settings.home, "signing")
    assert first.sign(WHAT) == second.sign(WHAT) != ""
    assert (file.stat().st_mode & 0o777, settings.home.stat().st_mode & 0o777) == (0o600, 0o700)
    assert artifact_keys_of(settings)
    assert [path.name for path in settings.home.iterdir() if path.name.startswith(".")] == []


def test_a_configured_redis_needs_keys_or_to_be_told_that_there_are_none(tmp_path: Path) -> None:
    with pytest.raises(SettingsInvalid, match=r"REPLAYWRIGHT_SIGNING_KEYS.*replaywright admin keys new.*UNSIGNED=true"):
        signer_of(settings_of(tmp_path, redis_url="redis://elsewhere/0"))

    assert signer_of(settings_of(tmp_path, redis_url="redis://elsewhere/0", unsigned=True)).is_unsigned
    keys = settings_of(tmp_path, redis_url="redis://elsewhere/0", signing_keys=written_key(KEY))
    assert signer_of(keys).key_ids == ("k1",)
    assert known_signer(settings_of(tmp_path)).is_unsigned


def test_a_file_of_keys_is_for_its_owner_only(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    file.write_text(written_key(KEY))
    file.chmod(0o640)
    settings = settings_of(tmp_path, redis_url="redis://elsewhere/0", signing_keys=file)

    with pytest.raises(SettingsInvalid, match="REPLAYWRIGHT_SIGNING_KEYS_FILE: others on this machine can read"):
        signer_of(settings)

    file.chmod(0o600)
    assert signer_of(settings).key_ids == ("k1",)


def test_a_wrong_key_is_told_without_what_it_holds(tmp_path: Path) -> None:
    settings = settings_of(tmp_path, signing_keys="k1:c2VjcmV0")

    with pytest.raises(SettingsInvalid, match="REPLAYWRIGHT_SIGNING_KEYS: key 'k1' has 6 bytes") as error:
        signer_of(settings)

    assert "c2VjcmV0" not in str(error.value) + repr(settings)


def test_new_keys_are_printed_as_they_are_read() -> None:
    first, second = (CliRunner().invoke(app, ["admin", "keys", "new"]).stdout for _ in range(2))

    assert len(parse_keys(first)) == 1
    assert first != second
    assert parse_keys(CliRunner().invoke(app, ["admin", "keys", "new", "--id", "mine"]).stdout)[0].id == "mine"
    assert CliRunner().invoke(app, ["admin", "keys", "new", "--id", "a b"]).exit_code == 2


def test_whoever_composes_a_store_says_who_signs() -> None:
    """A store without a signer acts on whatever it finds: tests may, the product may not."""
    forgotten = []
    sources = [
        ROOT / "worker.py",
        *(path for name in ("replaywright", "activities", "demo") for path in (ROOT / name).rglob("*.py")),
    ]
    for path in sources:
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
                continue
            signed = node.func.id in ("RedisStepStore", "RedisSkills", "RedisOverrides")
            if signed and not any(keyword.arg == "signer" for keyword in node.keywords):
                forgotten.append(f"{path.relative_to(ROOT)}:{node.lineno}")

    assert forgotten == []


def test_a_derived_key_is_that_of_rfc_5869() -> None:
    key = KEY
    info = b'{"purpose":"start","tenant":"acme"}'

    derived = HKDF(hashes.SHA256(), 32, salt=b"replaywright", info=info).derive(key.secret)

    assert key.derived("start", "acme") == derived


def test_the_worked_example_of_the_contracts_is_right() -> None:
    signer = Signer((Key("example", bytes(range(32))),))
    sent = {"task": {"task": "t", "url": "https://shop.example/"}, "values": {"name": "Zo\u00eb"}, "tenant": "acme"}
    page = (ROOT / "docs/reference/contracts.md").read_text("utf-8")

    start = sign_start(signer, kind="BrowserTask", run_id="order/4711", given=sent)
    update = sign_update(
        signer,
        "acme",
        kind="resolve_step",
        run_id="order/4711",
        update="u1",
        given={"sequence": 3, "verdict": "approve"},
    )

    assert f"`{start}`" in page
    assert f"`{update}`" in page
