"""Parameters of type list: several texts as the one text that a parameter's value is."""

import json
from collections.abc import Sequence

from replaywright.domain.common.elsewhere import json_value


def list_parameter(text: str) -> tuple[str, ...]:
    """The texts of a parameter of type list, from the JSON that its value is."""
    return tuple(json.loads(text))


def list_value(texts: Sequence[str]) -> str:
    """A parameter of type list as the text that its value is."""
    return json.dumps(list(texts), ensure_ascii=False)


def list_of(text: str) -> tuple[str, ...]:
    """The texts that a person gives in one: JSON, else separated by commas.

    Raises:
        ValueError: it begins like JSON, and is no list of texts.
    """
    if text.lstrip().startswith("["):
        given = json_value(text)
        if not all(isinstance(each, str) for each in given):
            raise ValueError("expected texts only")
        return tuple(given)
    return tuple(part.strip() for part in text.split(",") if part.strip())
