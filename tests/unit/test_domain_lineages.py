"""The lineage of a run that a schedule starts: one of its own, from which the run can be told."""

import uuid

from hypothesis import given
from hypothesis import strategies as st

from replaywright.domain.run.lineages import beginning_of, lineage_of_firing


@given(st.text(min_size=1), st.uuids(), st.uuids())
def test_two_runs_of_one_name_are_two_lineages_that_both_began_with_it(
    name: str, first: uuid.UUID, second: uuid.UUID
) -> None:
    lineages = [lineage_of_firing(name, str(each)) for each in (first, second)]

    assert len(set(lineages)) == len({first, second})
    assert [beginning_of(lineage) for lineage in lineages] == [name, name]


def test_the_lineage_of_any_other_run_began_with_the_run_that_it_is_named_for() -> None:
    assert beginning_of("send-mail/shop.example@8080/20261122-140000-1a2b3c") == (
        "send-mail/shop.example@8080/20261122-140000-1a2b3c"
    )
