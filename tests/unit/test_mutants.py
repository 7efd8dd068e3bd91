"""The list of mutants fits the source: the short form of `make mutants`."""

from pathlib import Path

import pytest

from tests.mutants.catalogue import MUTANTS
from tests.mutants.mutant import ROOT, Mutant, copy_source, page
from tests.mutants.run import figures, tried
from tests.unit.named_tests import names_in

PAGE = ROOT / "docs" / "internals" / "mutants.md"


def test_every_mutant_replaces_a_text_that_stands_once() -> None:
    assert {mutant.name: len(mutant.places()) for mutant in MUTANTS if len(mutant.places()) != 1} == {}


def test_every_mutant_changes_something_under_a_name_of_its_own() -> None:
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)
    assert [mutant.name for mutant in MUTANTS if mutant.old == mutant.new] == []


def test_every_test_that_is_to_catch_a_mutant_exists() -> None:
    named = {test for mutant in MUTANTS for test in mutant.caught_by}

    assert [test for test in sorted(named) if test not in names_in(test.partition("::")[0])] == []


def test_the_page_of_the_mutants_is_up_to_date() -> None:
    assert PAGE.read_text("utf-8") == page(MUTANTS), "write it anew: python -m tests.mutants.run --write"


def test_a_text_that_is_gone_or_stands_twice_is_refused(tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "one.py").write_text("def held():\n    guard()\n    guard()\n\n\ndef other():\n    free()\n")

    for symbol, old in (("held", "guard()"), ("held", "free()"), ("nothing", "free()")):
        with pytest.raises(ValueError, match="not once"):
            Mutant("m", "g", symbol, old, "", ()).apply(tmp_path)


def test_a_mutant_is_applied_to_the_copy_alone(tmp_path: Path) -> None:
    copy_source(tmp_path / "copy")
    mutant = MUTANTS[0]
    source, at = mutant.place()
    before = source.read_text("utf-8")

    mutant.apply(tmp_path / "copy")

    assert source.read_text("utf-8") == before
    assert (tmp_path / "copy" / source.relative_to(ROOT)).read_text("utf-8")[at:].startswith(mutant.new)


def test_a_mutant_whose_tests_do_not_end_in_time_is_neither_caught_nor_survived(tmp_path: Path) -> None:
    copy_source(tmp_path / "source")

    verdict, why = tried(MUTANTS[0], tmp_path, limit_s=0.01)

    assert (verdict, why) == ("TIMED OUT", "the tests did not end within 0.01 s")
    assert figures({"late": verdict, "seen": "caught", "missed": "SURVIVED"}) == {
        "mutants": 3,
        "caught": 1,
        "survived": ["missed"],
        "timed_out": ["late"],
    }
