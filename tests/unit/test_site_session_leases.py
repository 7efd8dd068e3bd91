"""Leases of a site session: who gets it, one sign-in for all who wait, pauses after failures."""

from datetime import UTC, datetime, timedelta

from replaywright.domain.site_session.leases import FIRST_PAUSE, LONGEST_PAUSE, Kept, Lease, Leases, LeaseTerms

NOW = datetime(2026, 11, 28, 12, tzinfo=UTC)


def after(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def asked(leases: Leases, *runs: str, shared: int = 1, expired: int = 0, max_age_s: float = 0) -> Leases:
    for run in runs:
        leases = leases.asking(run, expired, LeaseTerms(shared=shared, max_age_s=max_age_s), NOW)
    return leases


def signed_in(leases: Leases, run: str = "s1", at: datetime = NOW) -> Leases:
    began = leases.signing(run)
    return began.signed_in(run, Kept(number=began.numbers, digest=f"d{began.numbers}"), at)


def granted(leases: Leases, at: datetime = NOW) -> tuple[Leases, tuple[str, ...]]:
    return leases.aged(at).granting(at)


def test_many_who_ask_make_one_sign_in_and_get_the_session_in_turn() -> None:
    leases = asked(Leases(), "a", "b", "c")
    assert leases.needs_sign_in
    signing = leases.signing("s1")
    assert not signing.needs_sign_in, "one is under way"
    assert granted(signing) == (signing, ()), "nobody gets a state that is not there yet"

    leases, told = granted(signing.signed_in("s1", Kept(number=1, digest="d1"), NOW))
    assert told == ("a",)
    assert leases.grant("a") == Lease(kept=Kept(number=1, digest="d1"))
    assert leases.grant("b") == Lease(), "it waits"

    leases, told = granted(leases.returning("a", Kept(number=1, digest="d2"), NOW))
    assert told == ("b",)
    assert leases.grant("b").kept == Kept(number=1, digest="d2"), "the state as the run before left it"
    assert leases.sign_ins == 1


def test_as_many_share_a_session_as_may() -> None:
    leases, told = granted(signed_in(asked(Leases(), "a", "b", "c", shared=2)))
    assert told == ("a", "b")
    assert granted(leases)[1] == ()
    assert granted(leases.returning("b", None, NOW))[1] == ("c",)


def test_who_asks_twice_waits_once() -> None:
    leases, told = granted(signed_in(asked(Leases(), "a", "a", shared=2)))
    assert told == ("a",)
    again, told = granted(asked(leases, "a", shared=1))
    assert told == ("a",), "it has the session already"
    assert [user.run_id for user in again.holders] == ["a"]


def test_several_who_find_one_state_expired_count_as_one_expiry() -> None:
    leases, _ = granted(signed_in(asked(Leases(), "a", "b", shared=2)))
    leases = asked(asked(leases, "a", shared=2, expired=1), "b", shared=2, expired=1)
    assert (leases.expiries, leases.needs_sign_in) == (1, True)
    assert leases.grant("a") == Lease(), "nobody goes on with it"

    leases, told = granted(signed_in(leases, "s2"))
    assert sorted(told) == ["a", "b"], "who held it keeps its place"
    late = asked(leases, "b", shared=2, expired=1)
    assert (late.expiries, late.is_expired) == (1, False), "an old state says nothing about the new one"


def test_a_state_that_comes_back_from_before_a_sign_in_is_not_taken() -> None:
    leases, _ = granted(signed_in(asked(Leases(), "a", "b", shared=2)))
    leases, _ = granted(signed_in(asked(leases, "a", shared=2, expired=1), "s2"))
    back = leases.returning("b", Kept(number=1, digest="old"), NOW)
    assert back.kept == Kept(number=2, digest="d2")
    assert leases.returning("stranger", Kept(number=2, digest="x"), NOW).kept == leases.kept, "it holds no lease"


def test_a_sign_in_that_nobody_waits_for_any_more_changes_nothing() -> None:
    leases = asked(Leases(), "a").signing("s1")
    assert leases.signed_in("other", Kept(number=1, digest="x"), NOW) == leases
    assert leases.signed_in("s1", Kept(number=7, digest="x"), NOW) == leases
    assert leases.failed("other", "no", NOW) == (leases, ())


def test_a_failed_sign_in_is_told_to_all_and_not_tried_again_at_once() -> None:
    leases, told = asked(Leases(), "a", "b").signing("s1").failed("s1", "wrong password", NOW)
    assert told == ("a", "b")
    assert leases.grant("a") == Lease(why="wrong password")
    assert not leases.needs_sign_in

    soon, told = granted(asked(leases, "c"), after(10))
    assert told == ("c",)
    assert soon.grant("c").why == "wrong password; nobody signs in before 12:01:00 UTC"
    later = asked(soon, "d")
    assert granted(later, NOW + FIRST_PAUSE) == (later, ())
    assert later.needs_sign_in

    second, _ = later.signing("s2").failed("s2", "wrong password", NOW)
    assert second.paused_until == NOW + 2 * FIRST_PAUSE
    for number in range(2, 12):
        later, _ = later.signing(f"s{number}").failed(f"s{number}", "wrong password", NOW)
    assert later.paused_until == NOW + LONGEST_PAUSE
    assert later.wanted().needs_sign_in, "a person wants it, whatever failed"
    assert later.wanted().paused_until is None


def test_a_sign_in_that_the_site_has_ended_at_once_is_tried_once_more() -> None:
    leases, told = asked(Leases(), "a").signing("s1").failed("s1", "it asks to sign in", NOW, may_pass=True)
    assert (told, leases.needs_sign_in) == ((), True)
    leases, told = leases.signing("s2").failed("s2", "it asks to sign in", NOW, may_pass=True)
    assert (told, leases.paused_until) == (("a",), NOW + FIRST_PAUSE)


def test_what_a_person_wanted_is_done_with_the_sign_in_that_was_under_way() -> None:
    signed = signed_in(Leases().wanted().signing("s1").wanted().changed(signing_in=None), "s2")
    assert not signed.forgotten().needs_sign_in


def test_one_who_heard_that_it_failed_may_ask_again() -> None:
    leases, _ = asked(Leases(), "a").signing("s1").failed("s1", "no", NOW)
    again, told = granted(signed_in(asked(leases, "a"), "s2"))
    assert told == ("a",)
    assert again.grant("a").kept is not None


def test_a_state_that_is_too_old_is_expired_whatever_the_site_says() -> None:
    leases, _ = granted(signed_in(asked(Leases(), "a", max_age_s=60)))
    leases = leases.returning("a", leases.kept, NOW)
    assert granted(asked(leases, "b", max_age_s=60), after(59))[1] == ("b",)
    old, told = granted(asked(leases, "b", max_age_s=60), after(60))
    assert (told, old.needs_sign_in, old.expiries) == ((), True, 1)


def test_runs_that_have_ended_unheard_give_back_what_they_had() -> None:
    leases, _ = granted(signed_in(asked(Leases(), "a", "b")))
    left, told = leases.gone(("a",), NOW)
    assert told == ()
    assert granted(left)[1] == ("b",)

    signing = asked(leases, "a", expired=1).signing("s2")
    failed, told = signing.gone(("s2",), NOW)
    assert sorted(told) == ["a", "b"]
    assert "s2" in failed.grant("b").why


def test_what_a_person_brings_counts_like_a_sign_in_and_what_is_forgotten_is_gone() -> None:
    leases, told = granted(asked(Leases(), "a").imported(Kept(number=0, digest="mine"), NOW))
    assert told == ("a",)
    assert leases.grant("a").kept == Kept(number=1, digest="mine")
    gone = leases.forgotten()
    assert gone.kept is None
    assert asked(gone, "b").needs_sign_in


def test_a_session_is_kept_alive_only_while_nobody_uses_it() -> None:
    leases = asked(Leases(), "a").changed(terms=LeaseTerms(keep_alive_s=60))
    assert leases.idle_until() is None, "nothing is kept"
    held, _ = granted(signed_in(leases))
    held = held.changed(terms=LeaseTerms(keep_alive_s=60))
    assert held.idle_until() is None
    assert held.returning("a", held.kept, after(5)).idle_until() == after(65)


def test_passkeys_outlive_the_state_and_go_to_who_signs_in_and_who_has_the_session() -> None:
    passkeys, other = Kept(number=1, digest="p1"), Kept(number=1, digest="p2")
    leases, _ = granted(signed_in(asked(Leases(), "a")))
    leases = leases.registering("a", passkeys).registering("stranger", other).registering("a", None)
    assert leases.passkeys == passkeys
    expired = leases.returning("a", None, NOW).asking("b", 1, LeaseTerms(), NOW).signing("s2")
    assert expired.grant("s2") == Lease(passkeys=passkeys)
    assert expired.grant("b") == Lease()
    anew = expired.registering("s2", other).signed_in("s2", Kept(number=2, digest="d2"), NOW)
    again, _ = granted(anew)
    assert again.grant("b") == Lease(kept=Kept(number=2, digest="d2"), passkeys=other)
    assert again.imported(Kept(number=0, digest="d3"), NOW).passkeys == other
    assert again.forgotten().passkeys is None
