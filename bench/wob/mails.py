"""The mail programs of MiniWoB++: find a mail by its sender and delete, mark, answer or forward it."""

from bench.wob.oracle import Pick
from bench.wob.pages import Utterance
from bench.wob.spec import Do, Spec, Values, declared, learned, said, spec

_OPEN = declared(
    "click",
    "the mail from {{by}}",
    {"css": "#main .email-sender", "text": "{{by}}"},
    expect=[{"exists": {"css": "#email .email-sender", "text": "{{by}}"}}],
)
_DELETE = declared("click", "the trash icon of the open mail", {"css": "#email .trash"})
_STAR = declared("click", "the star icon of the open mail", {"css": "#email .star"})
_LEARNED = {
    "message": learned("fill", "the text of the answer", Pick("textbox"), value="{{message}}"),
    "to": learned("fill", "the recipient", Pick("textbox", nth=1), value="{{to}}"),
}
_DECLARED = {
    "message": declared("fill", "the text of the answer", {"css": "#reply-text"}, value="{{message}}"),
    "to": declared("fill", "the recipient", {"css": ".forward-sender"}, value="{{to}}"),
}
"""For tasks that want something else with each seed: what is recorded once teaches one of their flows."""


def _reply(message: Do) -> tuple[Do, ...]:
    opened = [{"exists": {"css": "#reply-text"}}]
    return (
        declared("click", "reply", {"css": "#email .email-reply"}, expect=opened),
        message,
        declared("click", "the send icon", {"css": "#send-reply"}),
    )


def _forward(recipient: Do) -> tuple[Do, ...]:
    opened = [{"exists": {"css": "#forward-text"}}]
    return (
        declared("click", "forward", {"css": "#email .email-forward"}, expect=opened),
        recipient,
        declared("click", "the send icon", {"css": "#send-forward"}),
    )


_FIND = r"Find the email by (?P<by>\S+) and "
_deletes = said(_FIND + r"click the trash icon to delete it\.")
_stars = said(_FIND + r"click the star icon to mark it as important\.")
_replies = said(_FIND + r'reply to them with the text "(?P<message>.*)"\.')
_forwards = said(_FIND + r"forward that email to (?P<to>\S+)\.")


def _any(utterance: Utterance) -> Values | None:
    """What is to be done is a part of the flow: `do` says which."""
    for do, read in (("delete", _deletes), ("star", _stars), ("reply", _replies), ("forward", _forwards)):
        if (values := read(utterance)) is not None:
            return {"do": do, **values}
    return None


def _fields(utterance: Utterance) -> Values | None:
    if isinstance(utterance, str):
        return None
    fields = dict(utterance["fields"])
    return {"do": fields.pop("task", "forward"), **fields}


def _steps(values: Values) -> tuple[Do, ...]:
    match values["do"]:
        case "delete":
            return (_OPEN, _DELETE)
        case "star":
            return (_OPEN, _STAR)
        case "reply":
            return (_OPEN, *_reply(_DECLARED["message"]))
        case _:
            return (_OPEN, *_forward(_DECLARED["to"]))


MAILS = (
    spec("email-inbox-delete", _deletes, _OPEN, _DELETE),
    spec("email-inbox-important", _stars, _OPEN, _STAR),
    spec("email-inbox-reply", _replies, _OPEN, *_reply(_LEARNED["message"])),
    spec("email-inbox-forward", _forwards, _OPEN, *_forward(_LEARNED["to"])),
    Spec("email-inbox-forward-nl", _fields, _steps),
    Spec("email-inbox-forward-nl-turk", _fields, _steps),
    Spec("email-inbox-star-reply", _any, _steps),
    Spec("email-inbox-noscroll", _any, _steps),
    Spec("email-inbox", _any, _steps),
    Spec("email-inbox-nl-turk", _fields, _steps),
)
