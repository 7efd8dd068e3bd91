"""The table of the park's runs, and their figures."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from bench.miniwob import End
from bench.park.runs import Kind, Outcome


def of(outcomes: Sequence[Outcome], *kinds: Kind) -> list[Outcome]:
    """Return the runs of these kinds whose flow is the one that was learned."""
    return [outcome for outcome in outcomes if outcome.kind in kinds and outcome.same_flow]


def figures(outcomes: Sequence[Outcome]) -> dict[str, object]:
    """Return the figures of these runs.

    `fallback_right` is the share of all pairs that were done without a model or, where that one stopped, with it.
    """
    pairs, fallen, again = of(outcomes, Kind.OTHER), of(outcomes, Kind.FALLBACK), of(outcomes, Kind.AGAIN)
    replays = [o for o in outcomes if o.kind in (Kind.SAME, Kind.NEW, Kind.OTHER)]
    return {
        "apps": len({o.app for o in outcomes}),
        "tasks": len({(o.app, o.job) for o in outcomes}),
        "learned": share(of(outcomes, Kind.LEARN, Kind.DESCRIBED)),
        "replayed": share(of(outcomes, Kind.SAME)),
        "new_values": share(of(outcomes, Kind.NEW)),
        "pairs": len(pairs),
        "healed": share(pairs),
        "stopped": sum(o.end is End.STOPPED for o in pairs),
        "silently_wrong": sum(o.end is End.WRONG for o in outcomes),
        "replay_model_calls": sum(o.model_calls for o in replays),
        "fallback_right": share([o for o in pairs if o.end is End.DONE] + fallen),
        "fallbacks": len(fallen),
        "second_run": share(again),
        "second_run_calls": sum(o.model_calls for o in again),
        "approved": sum(o.approved for o in outcomes),
        "other_flows": sum(o.kind is Kind.OTHER and not o.same_flow for o in outcomes),
    }


def share(outcomes: Sequence[Outcome]) -> float | None:
    """Return the share that was done; None where there was nothing to do."""
    return round(sum(o.end is End.DONE for o in outcomes) / len(outcomes), 4) if outcomes else None


def shown(console: Console, outcomes: Sequence[Outcome]) -> dict[str, object]:
    """Print the table of the applications and return the figures of all."""
    table = Table(title="Real applications: tasks learned, replayed, and taken to other editions")
    kinds = (Kind.LEARN, Kind.DESCRIBED, Kind.SAME, Kind.NEW, Kind.OTHER, Kind.FALLBACK, Kind.AGAIN)
    for column in ("application", "tasks", *kinds, "wrong", "model calls in replays"):
        table.add_column(column, justify="left" if column == "application" else "right")
    for app in dict.fromkeys(o.app for o in outcomes):
        mine = [o for o in outcomes if o.app == app]
        told = figures(mine)
        cells = [f"{sum(o.end is End.DONE for o in some)}/{len(some)}" for some in (of(mine, kind) for kind in kinds)]
        table.add_row(app, str(told["tasks"]), *cells, str(told["silently_wrong"]), str(told["replay_model_calls"]))
    console.print(table)
    return figures(outcomes)
