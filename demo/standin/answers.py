"""The OpenAI dialect: what a chat request asks for, and an answer in the form it asked for.

Typed output is asked for in three ways, all used by pydantic-ai: a function tool that must be called, a
`response_format` with a JSON schema, and a schema in the prompt with `response_format` `json_object`.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from demo.standin.reading import Choice, choose, parse_listing

MODEL_NAME: Final = "stand-in"
_PLAN_SECTIONS: Final = ("goal", "failed", "remaining")
_MORE_SECTIONS: Final = ("parameters", "secrets", "done")
_CHARACTERS_PER_TOKEN: Final = 4
_ELEMENT_PROPERTY: Final = re.compile(r"(^|_)(element|target|ref|id)(_|$)", re.IGNORECASE)
_REASON_PROPERTY: Final = re.compile(r"reason|why|explanation|comment|note", re.IGNORECASE)

Json: TypeAlias = Mapping[str, Any]
"""A decoded JSON object: requests and schemas come from outside, in any shape."""


class NotUnderstoodError(Exception):
    """The request is none that a stand-in can answer."""


def choice_for(request: Json) -> Choice:
    """Read the request's instruction and page and choose an element.

    Raises:
        NotUnderstoodError: no message holds both `<instruction>` and `<page>`.
    """
    around, page = _around_page(request)
    if instruction := re.search(r"<instruction>(.*?)</instruction>", around, re.DOTALL):
        return choose(instruction[1], parse_listing(page))
    raise NotUnderstoodError("the user message has no <instruction>…</instruction> and <page>…</page>")


def choices_for_following(request: Json) -> dict[int, Choice]:
    """Choose an element for each of the following instructions, by number."""
    around, page = _around_page(request)
    elements = parse_listing(page)
    return {number: choose(said, elements) for number, said in following_in(around).items()}


def following_in(text: str) -> dict[int, str]:
    """Return the following instructions of a message, by number."""
    section = re.search(r"<following>\n(.*?)\n</following>", text, re.DOTALL)
    lines = re.findall(r"^(\d+) \(\w+\): (.*)$", section[1], re.MULTILINE) if section else []
    return {int(number): said for number, said in lines}


def _around_page(request: Json) -> tuple[str, str]:
    """Return the newest message of the user that has a page, without it, and the page; both are empty without one."""
    for message in reversed(_messages(request)):
        text = _text(message.get("content"))
        # The page goes first and whole, to its last closing tag: it may hold such tags of its own.
        page = re.search(r"<page>(.*)</page>", text, re.DOTALL)
        if message.get("role") == "user" and page is not None:
            return text[: page.start()] + text[page.end() :], page[1]
    return "", ""


def plan_sections(request: Json) -> dict[str, str] | None:
    """The sections of a planner's message; None when the request asks for something else."""
    around, page = _around_page(request)
    names = (*_PLAN_SECTIONS, *_MORE_SECTIONS)
    found = {name: re.search(f"<{name}>(.*?)</{name}>", around, re.DOTALL) for name in names}
    sections = {name: match[1] for name, match in found.items() if match is not None}
    return {**sections, "page": page} if sections.keys() >= set(_PLAN_SECTIONS) else None


def asks_for_a_probe(request: Json) -> bool:
    """Whether it is asked where the site shows that a step took effect."""
    return any("<links>" in _text(message.get("content")) for message in _messages(request))


def asks_for(request: Json, field: str) -> bool:
    """Whether the answer that is asked for has such a field."""
    return any(field in _properties(tool) for tool in _tools(request)) or field in _schema_in(request).get(
        "properties", {}
    )


def sections_in(request: Json, *names: str) -> dict[str, str]:
    """Return the sections of the user's message; empty ones are left out.

    Raises:
        NotUnderstoodError: the first of them is not there.
    """
    for message in reversed(_messages(request)):
        text = _text(message.get("content"))
        found = {name: re.search(rf"<{name}>\n(.*)\n</{name}>", text, re.DOTALL) for name in names}
        if message.get("role") == "user" and found[names[0]] is not None:
            return {name: match[1] for name, match in found.items() if match is not None}
    raise NotUnderstoodError(f"the user message has no <{names[0]}>…</{names[0]}>")


def told_message(request: Json, answer: Json, field: str) -> dict[str, Any]:
    """The assistant message that tells `answer`, of which one part is `field`, in the form that `request` asks for.

    Raises:
        NotUnderstoodError: the form asked for has no such field.
    """
    for tool in _tools(request):
        if field in _properties(tool):
            return _call(tool["name"], json.dumps(answer))
    if field not in _schema_in(request).get("properties", {}):
        raise NotUnderstoodError(f"the output's schema has no {field}")
    return {"role": "assistant", "content": json.dumps(answer)}


def _tools(request: Json) -> list[Json]:
    return [tool["function"] for tool in request.get("tools") or () if tool.get("type") == "function"]


def _properties(tool: Json) -> Json:
    properties: Json = tool.get("parameters", {}).get("properties", {})
    return properties


def answer_message(
    request: Json, choice: Choice, following: Mapping[int, Choice] = MappingProxyType({})
) -> dict[str, Any]:
    """The assistant message that tells `choice`, and those for following steps, in the form that `request` asks for.

    Raises:
        NotUnderstoodError: the form asked for has no place for an element id.
    """
    if tools := [tool["function"] for tool in request.get("tools") or () if tool.get("type") == "function"]:
        for tool in tools:
            schema = tool.get("parameters", {})
            if _element_property(schema) is not None:
                return _call(tool["name"], json.dumps(_fill(schema, choice, following)))
        raise NotUnderstoodError("no tool takes an element id")
    schema = _schema_in(request)
    if _element_property(schema) is None:
        raise NotUnderstoodError("the output's schema has no element id")
    return {"role": "assistant", "content": json.dumps(_fill(schema, choice, following))}


def garbled(message: Json) -> dict[str, Any]:
    """The same message with its JSON cut off in the middle."""
    if calls := message.get("tool_calls"):
        arguments: str = calls[0]["function"]["arguments"]
        return _call(calls[0]["function"]["name"], arguments[: len(arguments) // 2])
    content: str = message["content"]
    return {"role": "assistant", "content": content[: len(content) // 2]}


def completion(number: int, request: Json, message: Json, created: int) -> dict[str, Any]:
    """A whole `chat.completion` object with usage counts estimated at four characters a token."""
    prompt = _tokens(json.dumps([request.get("messages"), request.get("tools"), request.get("response_format")]))
    answer = _tokens(json.dumps(message))
    return {
        "id": f"chatcmpl-stand-in-{number}",
        "object": "chat.completion",
        "created": created,
        "model": MODEL_NAME,
        "choices": [
            {
                "index": 0,
                "message": {"refusal": None, **message},
                "finish_reason": "tool_calls" if message.get("tool_calls") else "stop",
                "logprobs": None,
            }
        ],
        "usage": {"prompt_tokens": prompt, "completion_tokens": answer, "total_tokens": prompt + answer},
    }


def _call(name: str, arguments: str) -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    call = {"id": f"call_{name}", "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def _messages(request: Json) -> Sequence[Json]:
    messages = request.get("messages")
    if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages):
        raise NotUnderstoodError("messages must be a list of objects")
    return messages


def _text(content: object) -> str:
    """A message's text, whether it is one string or a list of parts."""
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def _schema_in(request: Json) -> Json:
    form = request.get("response_format") or {}
    if form.get("type") == "json_schema":
        schema: Json = form["json_schema"]["schema"]
        return schema
    for message in _messages(request):
        if message.get("role") in ("system", "developer", "user"):
            for candidate in _objects_in(_text(message.get("content"))):
                if isinstance(candidate.get("properties"), dict):
                    return candidate
    return {"type": "object", "properties": {"element_id": {"type": ["string", "null"]}}}


def _objects_in(text: str) -> Iterator[Json]:
    """Every JSON object that stands in a text."""
    decoder = json.JSONDecoder()
    at = text.find("{")
    while at >= 0:
        try:
            value, end = decoder.raw_decode(text, at)
        except json.JSONDecodeError:
            end = at + 1
        else:
            yield value
        at = text.find("{", end)


def _element_property(schema: Json) -> str | None:
    names = [name for name in schema.get("properties", {}) if _ELEMENT_PROPERTY.search(name)]
    return next((name for name in names if "element" in name.lower()), names[0] if names else None)


def _fill(schema: Json, choice: Choice, following: Mapping[int, Choice]) -> dict[str, Any]:
    element_property = _element_property(schema)
    values: dict[str, Any] = {}
    for name, property_schema in schema.get("properties", {}).items():
        types = _types(property_schema)
        if name == element_property:
            values[name] = _element_value(types, choice)
        elif name == "following":
            values[name] = [{"number": at, "element_id": each.element_id} for at, each in following.items()]
        elif "string" in types:
            values[name] = choice.reason if _REASON_PROPERTY.search(name) else ""
        elif "number" in types:
            values[name] = choice.confidence
        elif "boolean" in types:
            values[name] = choice.element_id is not None
        elif "null" in types:
            values[name] = None
        elif name in schema.get("required", ()):
            raise NotUnderstoodError(f"a stand-in has no value for {name!r}")
    return values


def _element_value(types: set[str], choice: Choice) -> str | int | None:
    if choice.element_id is None:
        return None
    return int(choice.element_id[1:]) if "integer" in types and "string" not in types else choice.element_id


def _types(schema: Json) -> set[str]:
    """The JSON types a property admits, also through `anyOf`."""
    found: set[str] = set()
    declared = schema.get("type", [])
    found.update([declared] if isinstance(declared, str) else declared)
    for option in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        found |= _types(option)
    return found


def _tokens(text: str) -> int:
    return max(1, -(-len(text) // _CHARACTERS_PER_TOKEN))
