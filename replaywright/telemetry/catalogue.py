"""Every metric that there is, as data.

Code that measures, the reference, the alert rules and the dashboard all take the names from here. A label has a closed
set of values wherever it can have one; what is not in it is counted as `other`, so that nothing that a page, a model or
a person says can make a new time series. No label holds the id of a run, an address or free text.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import get_args

from opentelemetry.semconv._incubating.attributes import gen_ai_attributes
from opentelemetry.semconv._incubating.metrics import gen_ai_metrics
from opentelemetry.semconv.attributes.error_attributes import ERROR_TYPE

from replaywright.domain.run.scope import Mode
from replaywright.domain.run.standing import ENDS, OwnStatus
from replaywright.domain.step.outcomes import Status
from replaywright.domain.task.actions import Action

OTHER = "other"
"""Label value for one outside its set."""
PREFIX = "replaywright."
"""Prefix of every metric, and of every span attribute of ours."""
RUN_ID = f"{PREFIX}run.id"
"""Span attribute of the run, which is also the workflow's id."""


class MetricKind(StrEnum):
    """Aggregation of a metric's values."""

    COUNTER = "counter"
    HISTOGRAM = "histogram"
    GAUGE = "gauge"


class Counted(StrEnum):
    """Effect of a repetition after a loss on a metric."""

    ONCE = "once"
    """Only the first try of an activity counts; of a worker that is lost during it, not even that."""
    AT_LEAST_ONCE = "at least once"
    """A worker that is lost between the fact and Temporal's acceptance of it leaves it to be counted again."""
    EACH = "each"
    """Every occurrence is a fact of its own: a second request to a model is a second request."""


@dataclass(frozen=True)
class Label:
    """A dimension of a metric."""

    name: str
    description: str
    values: tuple[str, ...] = ()
    """All that it can have, beside `other`. Empty: an open set, which only the operator's configuration adds to."""

    kept: int = 20
    """Values of an open set that are told apart; the others are `other`."""
    is_optional: bool = False
    """It is left out where there is nothing to say."""

    @property
    def prometheus(self) -> str:
        """Its name at the Prometheus endpoint."""
        return self.name.replace(".", "_")

    @property
    def is_closed(self) -> bool:
        """Return True if its values are known beforehand."""
        return bool(self.values)


@dataclass(frozen=True)
class Metric:
    """One instrument."""

    name: str
    """Name in OpenTelemetry."""
    kind: MetricKind
    unit: str
    """Unit in UCUM: `s`, or an annotation such as `{step}`."""
    description: str
    labels: tuple[Label, ...] = ()
    counted: Counted = Counted.EACH
    buckets: tuple[float, ...] = ()
    """Upper bounds of a histogram."""

    @property
    def prometheus(self) -> str:
        """Its name at the Prometheus endpoint; a histogram has `_bucket`, `_sum` and `_count` behind it."""
        name = self.name.replace(".", "_")
        unit = "" if self.unit.startswith("{") else _PROMETHEUS_UNITS.get(self.unit, self.unit)
        if unit and not name.endswith(f"_{unit}"):
            name = f"{name}_{unit}"
        return f"{name}_total" if self.kind is MetricKind.COUNTER else name


_PROMETHEUS_UNITS = {"s": "seconds", "By": "bytes", "1": ""}
_STEP_SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)
_LONG_SECONDS = (0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 900.0, 3600.0)
_WAIT_SECONDS = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0)
_CALL_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)

# --------------------------------------------------------------------------------------------------- labels

ACTION = Label("action", "What the step does.", tuple(action.value for action in Action))
TIER = Label(
    "tier",
    "By what the element was found.",
    ("xpath", "xpath_variant", "attributes", "role_name", "hash", "focus", "similarity", "query", "none"),
)
"""`query`: a declared target. `none`: by nothing."""
MISS = Label(
    "reason",
    "Why the recording did not lead to the element; `none` where it did.",
    ("no_entry", "not_found", "ambiguous", "disagrees", "low_score", "heal_off", "unmet", "none"),
)
"""`unmet`: it led to one, and what was expected did not come true."""
ATTEMPT_STATUS = Label(
    "status",
    "How the attempt ended; `lost`: its worker, its browser or the ledger was not there.",
    (*(status.value for status in Status), "lost"),
)
ROLES = ("executor", "planner", "labeller", "chooser", "prober")
ROLE = Label("role", "What the model was asked for.", ROLES)
MODEL = Label("model", "As it is configured, `provider:name`.")
MODE = Label("mode", "What the run may use.", tuple(mode.value for mode in Mode))
RUN_STATUS = Label("status", "How the run ended.", tuple(status for status in ENDS if status in get_args(OwnStatus)))
RETRY = Label(
    "kind",
    "Why the step was tried another time; `activity`: Temporal repeated it.",
    (
        *("retry", "reopened", "entered", "recheck", "override", "model", "resume", "commit", "redis", "person"),
        *("earlier", "redo", "activity"),
    ),
)
VERDICT = Label(
    "verdict", "What was found out about it; `undecidable`: nobody knows.", ("done", "not_done", "undecidable")
)
CHAT = gen_ai_attributes.GenAiOperationNameValues.CHAT.value
"""The one operation of models that is used, by the conventions' name."""
SKILL = Label("skill", "Name of the skill.", kept=200)
SESSION = Label("session", "Name of the session in the file of sessions.", kept=200)
_GEN_AI = (
    Label(gen_ai_attributes.GEN_AI_OPERATION_NAME, "By OpenTelemetry's conventions.", (CHAT,)),
    Label(gen_ai_attributes.GEN_AI_PROVIDER_NAME, "By OpenTelemetry's conventions: `openai`, `anthropic`, …"),
    Label(gen_ai_attributes.GEN_AI_REQUEST_MODEL, "The model that was asked, without its provider."),
)
_MODEL_ERRORS = ("ModelMisconfigured", "ModelRateLimited", "ModelRefused", "ModelUnavailable", "cancelled")
QUEUES = ("workflow", "browser", "session", "host", "model")
QUEUE = Label("queue", "Which queue; `session`: that of the worker which has the run's browser.", QUEUES)
REDIS_OPERATIONS = (
    *("append", "candidates", "claim", "count", "dispatch", "entry_sign", "fence", "find", "intend", "keep"),
    *("line_sign", "ping", "promote", "read", "record", "release", "retire", "settle", "skill_delete", "skill_find"),
    *("skill_run", "skill_save", "skill_sign", "skill_status", "witness", "write"),
)
TEMPORAL_OPERATIONS = (
    *("DescribeNamespace", "GetSystemInfo", "GetWorkflowExecutionHistory", "ListWorkflowExecutions", "QueryWorkflow"),
    *("RecordActivityTaskHeartbeat", "RequestCancelWorkflowExecution", "RespondActivityTaskCanceled"),
    *("RespondActivityTaskCompleted", "RespondActivityTaskFailed", "RespondQueryTaskCompleted"),
    *("RespondWorkflowTaskCompleted", "RespondWorkflowTaskFailed", "StartWorkflowExecution", "UpdateWorkflowExecution"),
)

# -------------------------------------------------------------------------------------------------- metrics


def _counter(
    name: str, unit: str, description: str, *labels: Label, counted: Counted = Counted.AT_LEAST_ONCE
) -> Metric:
    return Metric(PREFIX + name, MetricKind.COUNTER, unit, description, labels, counted)


def _seconds(
    name: str,
    description: str,
    *labels: Label,
    buckets: tuple[float, ...],
    counted: Counted = Counted.AT_LEAST_ONCE,
) -> Metric:
    return Metric(PREFIX + name, MetricKind.HISTOGRAM, "s", description, labels, counted, buckets)


RUNS = _counter("runs", "{run}", "Runs that ended.", RUN_STATUS, MODE)
RUN_DURATION = _seconds(
    "run.duration",
    "Seconds from the start of a run to its end, waiting for people included.",
    *(RUN_STATUS, MODE),
    buckets=_LONG_SECONDS,
)
STEPS = _counter(
    "steps",
    "{step}",
    "Steps of plans that came to their end, after all attempts and repairs. Success: `done` of `done` and `failed`.",
    ACTION,
    Label(
        "outcome",
        "`skipped`: left out; `blocked`: a rule of the policy forbids it; `replaced`: it failed, and the plan was "
        "revised from there on; `cancelled`: the run was ended meanwhile.",
        ("done", "failed", "blocked", "skipped", "replaced", "cancelled"),
    ),
    Label(
        "how",
        "What led to the element: the recording (`replayed`), a heal, a candidate of another run, a model, the task "
        "itself (`declared`), the ledger of an earlier attempt; `none` for a step without an element, or one that "
        "found none.",
        ("replayed", "healed", "candidate", "model", "declared", "ledger", "none"),
    ),
)
ATTEMPTS = _counter(
    "attempts",
    "{attempt}",
    "Attempts at steps that came to an end in a browser worker; those that the ledger answered are not attempts.",
    *(ACTION, ATTEMPT_STATUS),
)
STEP_DURATION = _seconds(
    "step.duration",
    "Seconds that one attempt at a step took in the browser worker.",
    *(ACTION, ATTEMPT_STATUS),
    buckets=_STEP_SECONDS,
)
ASSERTIONS = _counter(
    "assertions",
    "{assertion}",
    "Predicates that were decided: of steps, and of final verifications. Pass rate: `holds` of `holds` and `fails`.",
    Label("result", "`undecided`: the page did not answer.", ("holds", "fails", "undecided")),
)
LOOKUPS = _counter(
    "cache.lookups",
    "{lookup}",
    "Elements that were looked for by a recording, or by what the task declares.",
    Label("outcome", "`healed`: found although the recording changed.", ("hit", "healed", "declared", "miss")),
    *(TIER, MISS),
)
HEALS = _counter("heals", "{heal}", "Steps that were done on an element which only healing found.", TIER)
FALLBACKS = _counter(
    "fallbacks",
    "{element}",
    "Elements that a model was asked for, by why; `no_entry`: nothing was recorded, which is learning.",
    MISS,
)
RETRIES = _counter("retries", "{attempt}", "Attempts at steps after the first.", ACTION, RETRY)
RECOVERY_DURATION = _seconds(
    "recovery.duration",
    "Seconds from the loss of a browser or worker being noticed until the run could go on.",
    Label("kind", "Adopted alive, built anew, or not recovered.", ("adopted", "rebuilt", "failed")),
    buckets=_LONG_SECONDS,
)
DOUBTS = _counter(
    "outcomes.doubted",
    "{step}",
    "Commit steps of which it had to be found out whether they took effect.",
    *(ACTION, VERDICT),
)
UNKNOWN = _counter(
    "outcomes.unknown",
    "{step}",
    "Commit steps of which nobody knows whether they took effect: a person has to look.",
    ACTION,
)
MODEL_CALLS = _counter(
    "model.calls",
    "{request}",
    "Requests to models.",
    *(ROLE, MODEL, Label("result", "Whether an answer came that could be used.", ("ok", "failed"))),
    counted=Counted.EACH,
)
MODEL_DURATION = _seconds(
    "model.duration",
    "Seconds that a model was asked, a second try for an answer that could not be used included.",
    *(ROLE, MODEL),
    buckets=_LONG_SECONDS,
    counted=Counted.EACH,
)
MODEL_TOKENS = _counter(
    "model.tokens",
    "{token}",
    "Tokens that models read and wrote.",
    *(ROLE, MODEL, Label("direction", "Read or written by the model.", ("input", "output"))),
    counted=Counted.EACH,
)
MODEL_COST = _counter(
    "model.cost",
    "usd",
    "US dollars, by the prices in the settings; nothing for models without one.",
    *(ROLE, MODEL),
    counted=Counted.EACH,
)
GEN_AI_DURATION = Metric(
    gen_ai_metrics.GEN_AI_CLIENT_OPERATION_DURATION,
    MetricKind.HISTOGRAM,
    "s",
    "Seconds of one request to a model, by OpenTelemetry's conventions for generative AI.",
    (
        *_GEN_AI,
        Label(
            ERROR_TYPE,
            "Error that it ended with; left out if an answer came.",
            _MODEL_ERRORS,
            is_optional=True,
        ),
    ),
    Counted.EACH,
    tuple(0.01 * 2**power for power in range(14)),
)
GEN_AI_TOKENS = Metric(
    gen_ai_metrics.GEN_AI_CLIENT_TOKEN_USAGE,
    MetricKind.HISTOGRAM,
    "{token}",
    "Tokens of one request to a model, by OpenTelemetry's conventions for generative AI.",
    (*_GEN_AI, Label(gen_ai_attributes.GEN_AI_TOKEN_TYPE, "Read or written by the model.", ("input", "output"))),
    Counted.EACH,
    tuple(float(4**power) for power in range(14)),
)
QUEUE_WAIT = _seconds(
    "queue.wait",
    "Seconds that a task waited in Temporal's queue for a worker.",
    QUEUE,
    buckets=_WAIT_SECONDS,
    counted=Counted.EACH,
)
BROWSERS = Metric(
    PREFIX + "browsers", MetricKind.GAUGE, "{browser}", "Browsers that this worker is attached to at the moment."
)
REDIS_DURATION = _seconds(
    "redis.duration",
    "Seconds of one round trip to Redis.",
    Label(
        "operation", "What was asked of it first: the name of a script, `read`, `write` or `ping`.", REDIS_OPERATIONS
    ),
    Label("result", "Whether it answered.", ("ok", "failed")),
    buckets=_CALL_SECONDS,
    counted=Counted.EACH,
)
TEMPORAL_DURATION = _seconds(
    "temporal.duration",
    "Seconds of one request to Temporal; polls, which wait for work, are not in it.",
    Label("operation", "The request.", TEMPORAL_OPERATIONS),
    buckets=_CALL_SECONDS,
    counted=Counted.EACH,
)
CANARIES = _counter(
    "canary.runs",
    "{run}",
    "Canaries that ended.",
    SKILL,
    Label(
        "outcome",
        "`drifted`: it went through, and elements had changed; `unjudged`: it failed for a reason that says nothing "
        "about the page.",
        ("intact", "drifted", "broken", "unjudged"),
    ),
)
CANARY_SUCCESS = Metric(
    PREFIX + "canary.last_success",
    MetricKind.GAUGE,
    "s",
    "Time, in seconds since 1970, of the last canary that went through, as far as this worker has seen it.",
    (SKILL,),
)
SIGN_INS = _counter(
    "session.sign_ins",
    "{run}",
    "Sign-ins of sessions that ended.",
    *(SESSION, Label("result", "How it ended.", ("ok", "failed"))),
)
SESSION_ENTRIES = _counter(
    "session.entries",
    "{browser}",
    "Browsers that a session was put into.",
    SESSION,
    Label(
        "result",
        "`expired`: the site asked to sign in; `refused`: the run got no session.",
        ("held", "expired", "refused"),
    ),
)
SESSION_WAIT = _seconds("session.wait", "Seconds that a run waited for its session.", SESSION, buckets=_LONG_SECONDS)
CODES = _counter(
    "codes",
    "{code}",
    "One-time codes that were looked for in mailboxes.",
    Label("source", "Name of the source in the file of sessions.", kept=200),
    Label("result", "`missing`: none came in time, and a person was asked.", ("found", "missing")),
)
MASK_FAILURES = _counter(
    "secrets.mask_failures",
    "{artifact}",
    "Times that something of a page was thrown away because a secret on it could not be hidden.",
    Label("what", "What was to be kept.", ("picture",)),
    counted=Counted.EACH,
)

METRICS: tuple[Metric, ...] = tuple(each for each in tuple(globals().values()) if isinstance(each, Metric))
"""All of them."""
