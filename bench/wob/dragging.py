"""Tasks of MiniWoB++ that are done by dragging, or key by key on a slider."""

from bench.wob.spec import SUBMIT, Do, Spec, Values, declared, nothing, said, spec

_WAYS = {"left": {"x": -15}, "right": {"x": 15}, "up": {"y": -15}, "down": {"y": 15}}
_CELLS = {
    f"{row} {column}": str(number)
    for number, (row, column) in enumerate(
        ((row, column) for row in ("top", "center", "bottom") for column in ("left", "center", "right")), start=1
    )
} | {"center": "5"}
_PLACES = {"1st position": "1", "2nd position": "2", "3rd position": "3", "4th position": "4", "5th position": "5"} | {
    "top": "1",
    "bottom": "5",
}


def _some_way(name: str) -> Spec:
    def steps(values: Values) -> list[Do]:
        return [
            declared("drag", "the shape", {"css": "#area svg > :is(circle, rect, polygon)"}, by=_WAYS[values["way"]]),
            SUBMIT,
        ]

    return Spec(name, said(r"Drag the (?:item|circle) (?P<way>left|right|up|down) then press Submit\."), steps)


def _form_sequence() -> Spec:
    def steps(values: Values) -> list[Do]:
        handle = {"css": "#slider .ui-slider-handle"}
        return [
            declared("press", "the slider", handle, keys="Home"),
            *[declared("press", "the slider", handle, keys="ArrowRight")] * (int(values["number"]) + 10),
            declared(
                "check",
                "checkbox {{nth}}",
                {"css": "#checkbox-{{nth}}"},
                expect=[{"text_contains": "{{number}}", "within": {"css": "#val"}}],
            ),
            SUBMIT,
        ]

    read = said(
        r"Select (?P<number>-?\d+) with the slider, click the (?P<nth>1st|2nd|3rd) checkbox, then hit Submit\.",
        nth=lambda text: text[0],
    )
    return Spec("form-sequence", read, steps)


_PLACE = {"css": "#sortable > li:nth-child({{place}})"}
_ITEM = declared(
    "drag",
    "the item {{name}}",
    {"css": "#sortable > li", "text": "{{name}}"},
    to=_PLACE,
    expect=[{"text_contains": "{{name}}", "within": _PLACE}],
)

DRAGGING = (
    spec(
        "drag-box",
        nothing,
        declared("drag", "the smaller box", {"css": "#draggableSmall"}, to={"css": "#draggableLarge"}),
        SUBMIT,
    ),
    _some_way("drag-single-shape"),
    _some_way("drag-circle"),
    spec(
        "drag-items",
        said(rf"Drag (?P<name>.*) to the (?P<place>{'|'.join(_PLACES)})\.", place=_PLACES.__getitem__),
        _ITEM,
    ),
    spec(
        "drag-items-grid",
        said(rf"Drag (?P<name>.*) to the (?P<place>{'|'.join(_CELLS)})\.", place=_CELLS.__getitem__),
        _ITEM,
    ),
    _form_sequence(),
)
