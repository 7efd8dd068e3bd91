"""Names of lineages: what a run and the runs that go on after it share."""

import re

_EXECUTION = re.compile(r"@[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")


def lineage_of_firing(run_id: str, first_execution: str) -> str:
    """The lineage of a run that a schedule has started.

    Temporal names such a run by the second that it is due in, and takes the same name again: for two starts within one
    second, and for one that is made up for. What was done under the name is then no proof of what this one has done, so
    the id of its first execution belongs to it, which a reset, a retry and continuing as new leave as it is.
    """
    return f"{run_id}@{first_execution}"


def beginning_of(lineage: str) -> str:
    """The run that a lineage began with."""
    return _EXECUTION.sub("", lineage)
