"""Values of list parameters: several texts as one JSON text."""

import json
from collections.abc import Sequence

from replaywright.domain.common.elsewhere import json_value


def list_parameter(text: str) -> tuple[str, ...]:
    """Return the texts of a list parameter from its JSON value."""
    return tuple(json.loads(text))


def list_value(texts: Sequence[str]) -> str:
    """Return texts as the JSON value of a list parameter."""
    return json.dumps(list(texts), ensure_ascii=False)


def list_of(text: str) -> tuple[str, ...]:
    """Parse texts that a person writes: a JSON array, or separated by commas.

    Raises:
        ValueError: it begins like a JSON array and is no list of texts.
    """
    if text.lstrip().startswith("["):
        given = json_value(text)
        if not all(isinstance(each, str) for each in given):
            raise ValueError("expected texts only")
        return tuple(given)
    return tuple(part.strip() for part in text.split(",") if part.strip())
