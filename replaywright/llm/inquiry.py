"""Questions to models as data, and the model that is asked; without the library that asks."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import BaseModel

from replaywright.domain.task.budgets import Price

Answer = TypeVar("Answer", bound=BaseModel)


def _accepted(_answer: Any, _is_last: bool) -> str:
    return ""


@dataclass(frozen=True)
class Inquiry(Generic[Answer]):
    """One question to a model."""

    answer: type[Answer]
    prompts: tuple[str, ...]
    """Instructions, for the system's part of the conversation."""
    message: str
    picture: bytes | None = None
    """PNG that follows the message."""
    is_loose: bool = False
    """No strict decoding of the answer's schema.

    Predicates and queries are objects of many forms. A provider's strict mode knows no such object: it is left with no
    fields at all, and a plan without `expect`, `when`, `verify` and `where`. What comes is checked here in any case.
    """
    correction: Callable[[Answer, bool], str] = _accepted
    """Returns what the model is told about an answer that cannot be used, empty for one that can; the second argument
    is True for the last answer, which has to be taken."""


@dataclass(frozen=True)
class ModelAccess:
    """The model of one role."""

    model: str
    """`provider:name`; empty for none."""
    role: str
    """The role's name in metrics."""
    setting: str
    """The variable that names the model, for messages."""
    base_url: str | None
    """Another server; it must speak Anthropic's dialect for `anthropic:…`, else OpenAI's."""
    api_key: str | None
    """Key for `base_url`; None takes the provider's own variable, or none at all."""
    timeout_s: float
    """Limit of one HTTP request, from connecting to the last byte."""
    price: Price | None
    """None when that is not known."""
