"""Every kind of span with what it says: the reference lists them, and tests hold to them what is written."""

from dataclasses import dataclass, field

from replaywright.telemetry.catalogue import PREFIX, RUN_ID


@dataclass(frozen=True)
class Attribute:
    """Something that a span says."""

    name: str
    description: str


@dataclass(frozen=True)
class SpanKind:
    """One kind of span."""

    name: str
    """`<activity>` and `<action>` stand for each of theirs."""
    where: str
    """The process that writes it."""
    description: str
    attributes: tuple[Attribute, ...] = field(default=())


def _own(name: str, description: str) -> Attribute:
    return Attribute(PREFIX + name, description)


_RUN_ID = Attribute(RUN_ID, "The run, which is also the workflow's id.")
_SITE = _own("site", "Host that the step, or the run, begins at.")
_SEQUENCE = _own("step.sequence", "Number of the step in the plan, from 1.")
_ACTION = _own("step.action", "What the step does.")
_EFFECT = _own("step.effect", "`read`, `idempotent`, `commit` or `irreversible`.")
_OUTCOME = _own("step.outcome", "How it ended.")
_REASON = _own("step.reason", "The code of why, where it did not go as recorded.")
_FINGERPRINT = _own("step.fingerprint", "The first twelve characters of the step's fingerprint.")
_TIER = _own("lookup.tier", "By what the element was found.")
_HOW = _own("step.how", "What led to the element, as in the metric.")

SPANS: tuple[SpanKind, ...] = (
    SpanKind(
        "run.start",
        "whoever starts the run",
        "Starting the workflow. The root of the trace, unless its caller has one.",
        (_RUN_ID,),
    ),
    SpanKind(
        "run",
        "workflow worker",
        "The whole run, from its start to its end, over every worker that had a part in it.",
        (
            _RUN_ID,
            _SITE,
            _own("run.mode", "What it may use."),
            _own("run.tenant", "Whose it is."),
            _own("run.task", "What it is called."),
            _own("run.status", "How it ended."),
            _own("run.reason", "The code of why, where it failed."),
            _own("run.steps", "Steps done."),
            _own("run.heals", "Elements found by healing."),
            _own("run.fallbacks", "Elements asked of a model although one was recorded."),
            _own("run.recoveries", "Losses of its browser or worker that it survived."),
            _own("model.calls", "Requests to models."),
            _own("model.cost", "US dollars, where prices are known."),
        ),
    ),
    SpanKind(
        "step",
        "workflow worker",
        "One step of the plan with all its attempts, and whatever repaired it.",
        (_RUN_ID, _SITE, _SEQUENCE, _ACTION, _EFFECT, _OUTCOME, _REASON, _HOW, _TIER, _FINGERPRINT),
    ),
    SpanKind(
        "recovery",
        "workflow worker",
        "From the loss of a browser or worker to the run going on.",
        (_RUN_ID, _own("recovery.kind", "`adopted`, `rebuilt` or `failed`.")),
    ),
    SpanKind(
        "<activity>",
        "browser or model worker",
        "One attempt at an activity, called as it is in Temporal's UI: `session.open`, `model.propose_target`, …",
        (
            _RUN_ID,
            _own("activity.attempt", "Temporal's count, from 1."),
            _own("queue.wait_ms", "How long it waited for a worker."),
            _own("model.calls", "Requests that it made to a model."),
            Attribute("error.type", "What the error is called that it failed with."),
        ),
    ),
    SpanKind(
        "chat <model>",
        "model worker",
        "One request to a model, by OpenTelemetry's conventions for generative AI; neither the prompt nor the answer.",
        (
            Attribute("gen_ai.operation.name", "`chat`."),
            Attribute("gen_ai.provider.name", "`openai`, `anthropic`, …"),
            Attribute("gen_ai.request.model", "The model that was asked."),
            Attribute("gen_ai.request.temperature", "As it was asked for."),
            Attribute("gen_ai.response.model", "The model that the provider says has answered."),
            Attribute("gen_ai.response.id", "The provider's id of the answer."),
            Attribute("gen_ai.response.finish_reasons", "Why the answer ended: `stop`, `length`, …"),
            Attribute("gen_ai.usage.input_tokens", "Tokens that the model read."),
            Attribute("gen_ai.usage.output_tokens", "Tokens that it wrote."),
            Attribute("server.address", "Host of the provider."),
            Attribute("server.port", "Its port, where the address names one."),
            _own("model.role", "What the model was asked for."),
            Attribute("error.type", "What the error is called that it failed with."),
        ),
    ),
    SpanKind(
        "browser.<action>",
        "browser worker",
        "One attempt at a step. It has the attributes of every activity, too.",
        (
            *(_SITE, _SEQUENCE, _ACTION, _EFFECT, _OUTCOME, _REASON, _TIER, _FINGERPRINT),
            _own("step.attempt", "Why it was another attempt: `retry`, `model`, `resume`, …"),
            _own("step.from_ledger", "Whether the ledger answered, and nothing was done."),
            _own("lookup.healed", "Whether the element was found by healing."),
            _own("lookup.score", "Score of the element that was found."),
            _own("lookup.runner_up", "Score of the second best."),
            _own("lookup.reason", "Why the recording did not lead to it."),
            _own("cost.evaluations", "Round trips to the page."),
            _own("cost.redis_round_trips", "Round trips to Redis."),
            _own("cost.locating_ms", "Time until the element was found."),
            _own("cost.acting_ms", "Time of the input."),
            _own("cost.verifying_ms", "Time until the expectation held."),
        ),
    ),
)
"""All of them."""
