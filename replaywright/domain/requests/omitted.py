"""Parts of a record that a request leaves out: sending less than a page would takes them away."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import reduce
from operator import or_

from replaywright.domain.requests.document import Document, Json
from replaywright.domain.requests.forms import forms_of, path_of
from replaywright.domain.requests.slots import Shape


def omitted(documents: Sequence[Document], shape: Shape, url: str) -> Counter[str]:
    """Return the names, and how often, of what a page with these documents, the newest first, would send more.

    That is what an untouched form for the address sends; of JSON, keys that are sent as empty, and were not read so.
    """
    if shape.fields:
        return _of_form(documents, shape, path_of(url))
    if shape.skeleton is None:
        return Counter()
    empty = {key for key, value in _keys(shape.skeleton) if value in ({}, [])}
    empty.update(json.loads(at)[-1] for at, kind in shape.kinds.items() if kind == "null" and at != "[]")
    read = (pair for document in documents if document.kind == "json" for pair in _keys(document.data))
    return Counter({key: 1 for key, value in read if key in empty and value not in (None, {}, [])})


def _of_form(documents: Sequence[Document], shape: Shape, path: str) -> Counter[str]:
    for document in documents:
        forms = [one for one in forms_of(document) if (path_of(one.action), one.address.method) == (path, shape.method)]
        if forms:
            return reduce(or_, (Counter(name for name, _ in one.pairs) for one in forms)) - Counter(shape.fields)
    return Counter()


def _keys(data: Json) -> Iterator[tuple[str, Json]]:
    """Yield keys and values of JSON, but not those in lists: they are another record's."""
    left = [data]
    while left:
        value = left.pop()
        if isinstance(value, dict):
            yield from value.items()
            left.extend(value.values())
