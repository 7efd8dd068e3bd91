"""One-time passwords: those of RFC 6238, from secrets as sites give them, entered only while they are good."""

import asyncio
import base64
import hashlib
import time
from types import SimpleNamespace

import pyotp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replaywright.domain.common.totp import Totp, totp_of
from replaywright.domain.step.fingerprints import fingerprint
from replaywright.domain.task.tasks import parse_task
from replaywright.errors import InputInvalid, SecretMissing
from replaywright.testing.stores import FakeSecrets
from tests.unit.staged import BOUND, TO, Stage, request, step

SEEDS = {"SHA1": 20, "SHA256": 32, "SHA512": 64}
VECTORS = [
    (59, "94287082", "46119246", "90693936"),
    (1111111109, "07081804", "68084774", "25091201"),
    (1111111111, "14050471", "67062674", "99943326"),
    (1234567890, "89005924", "91819424", "93441116"),
    (2000000000, "69279037", "90698825", "38618901"),
    (20000000000, "65353130", "77737706", "47863826"),
]
BASE32 = "JBSW Y3DP-ehpk3pxp"
"""As a site may show it: 80 bits, in groups."""
FILL = step("fill", "the To field", value="{{totp:LOGIN}}")


@pytest.mark.parametrize("vector", VECTORS)
def test_the_codes_are_those_of_rfc_6238(vector: tuple[int, str, str, str]) -> None:
    moment, *codes = vector

    made = [
        Totp((b"1234567890" * 7)[:length], digits=8, algorithm=algorithm).at(moment)
        for algorithm, length in SEEDS.items()
    ]

    assert made == codes


@given(st.binary(min_size=16, max_size=64), st.sampled_from(sorted(SEEDS)), st.integers(0, 2**33))
def test_an_address_of_a_qr_code_gives_the_codes_of_an_authenticator_app(key: bytes, name: str, moment: int) -> None:
    digest = {"SHA1": "sha1", "SHA256": "sha256", "SHA512": "sha512"}[name]
    secret = base64.b32encode(key).decode()
    app = pyotp.TOTP(secret, digits=7, interval=60, digest=getattr(hashlib, digest))

    made = totp_of("LOGIN", f"otpauth://totp/Shop:ada?secret={secret.rstrip('=')}&algorithm={name}&digits=7&period=60")

    assert made.at(moment) == app.at(moment)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("p4ssw0rd!", "neither Base32"),
        ("", "no key"),
        ("otpauth://hotp/x?secret=JBSWY3DPEHPK3PXP&counter=1", "only otpauth://totp/"),
        ("otpauth://totp/x?digits=6", "no key"),
        ("otpauth://totp/x?secret=JBSWY3DPEHPK3PXP&digits=99", "digits"),
        ("otpauth://totp/x?secret=JBSWY3DPEHPK3PXP&period=0", "period"),
        ("otpauth://totp/x?secret=JBSWY3DPEHPK3PXP&algorithm=MD5", "algorithm"),
        ("otpauth://[totp/x?secret=JBSWY3DPEHPK3PXP", "cannot be read"),
    ],
)
def test_what_makes_no_codes_is_refused_by_name_and_never_shown(value: str, said: str) -> None:
    with pytest.raises(SecretMissing, match=said) as refusal:
        totp_of("LOGIN", value)

    assert "'LOGIN'" in str(refusal.value)
    assert "JBSW" not in str(refusal.value)
    assert "p4ss" not in str(refusal.value)


@pytest.mark.parametrize(("moment", "waits"), [(0.0, 0.0), (24.9, 0.0), (25.0, 0.0), (26.0, 4.0), (29.5, 0.5)])
def test_a_code_that_is_nearly_over_is_not_used(moment: float, waits: float) -> None:
    assert Totp(b"key").wait_s(3000 + moment) == waits


async def test_a_one_time_password_is_made_when_it_is_entered_and_kept_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, slept = [1_700_000_000.0 - 1_700_000_000 % 30 + 27], list[float]()

    async def sleep(seconds: float) -> None:
        if seconds:
            slept.append(seconds)
            clock[0] += seconds

    stage = Stage(secrets=FakeSecrets({"LOGIN": BASE32}, BOUND))
    monkeypatch.setattr("activities.step.credentials.time", type("Clock", (), {"time": lambda: clock[0]}))
    monkeypatch.setattr("activities.step.credentials.asyncio", SimpleNamespace(**{**vars(asyncio), "sleep": sleep}))

    outcome = await stage.perform(request(FILL, proposed=TO))

    code = totp_of("LOGIN", BASE32).at(clock[0])
    assert outcome.status == "done"
    assert slept == [3.0]
    assert [dispatch.text for dispatch in stage.inputs] == [code]
    assert code not in outcome.model_dump_json()
    assert code not in await stage.kept()
    assert stage.secrets.redact(f"{code} was right") == "{{secret:LOGIN}} was right"


def test_a_fingerprint_knows_the_name_and_not_the_code() -> None:
    secret = step("fill", "the To field", value="{{secret:LOGIN}}")

    assert fingerprint(FILL, {}, "", "") == fingerprint(FILL, {}, "", "")
    assert fingerprint(FILL, {}, "", "") != fingerprint(secret, {}, "", "")


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ([{"action": "click", "instruction": "press {{totp:LOGIN}}"}], "outside the value"),
        ([{"action": "fill", "instruction": "the code", "value": "{{totp:OTHER}}"}], "undeclared secret 'OTHER'"),
    ],
)
def test_one_time_passwords_are_held_to_what_secrets_are(steps: list[dict[str, str]], said: str) -> None:
    data = {"task": "t", "url": "https://shop.example/", "secrets": ["LOGIN"], "steps": steps}

    with pytest.raises(InputInvalid, match=said):
        parse_task(data, "test")


def test_now_is_within_the_period_of_the_code_that_it_gives() -> None:
    totp = totp_of("LOGIN", BASE32)
    moment = time.time()

    assert totp.at(moment) == totp.at(moment - moment % 30) != totp.at(moment + 30 * 1000)
