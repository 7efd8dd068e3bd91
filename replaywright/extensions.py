"""Extensions by other installed distributions: predicates of the user's own, as entry points."""

from importlib.metadata import EntryPoint, entry_points

from replaywright.domain.predicate.evaluation import CustomPredicate
from replaywright.errors import StackFailed

PREDICATES = "replaywright.predicates"
"""The group of entry points; each is a function `(context, elements, arguments) -> bool | PredicateResult`."""


def custom_predicates() -> dict[str, CustomPredicate]:
    """The functions that predicates of the kind `custom` may name.

    Raises:
        StackFailed: one cannot be loaded, is no function, or two have the same name.
    """
    found: dict[str, CustomPredicate] = {}
    for point in entry_points(group=PREDICATES):
        if point.name in found:
            raise StackFailed(f"two installed distributions offer a predicate {point.name!r}: uninstall one of them")
        found[point.name] = _loaded(point)
    return found


def _loaded(point: EntryPoint) -> CustomPredicate:
    offered_by = point.dist.name if point.dist is not None else "an installed distribution"
    remedy = f"mend or uninstall {offered_by}"
    try:
        loaded = point.load()
    except Exception as exc:
        reason = f"{type(exc).__name__}: {exc}"
        raise StackFailed(f"the predicate {point.name!r} ({point.value}) cannot be loaded: {reason}; {remedy}") from exc
    if not callable(loaded):
        raise StackFailed(f"the predicate {point.name!r} ({point.value}) is no function; {remedy}")
    predicate: CustomPredicate = loaded
    return predicate
