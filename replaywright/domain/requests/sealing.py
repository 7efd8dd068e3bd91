"""Constant texts of sketches as digests: most are tokens of one session, and only those of all runs are needed."""

from collections.abc import Callable, Iterator, Mapping

from replaywright.domain.requests.recipes import ConstantText, RecipeCall, SealedText, Sketch, Slot, Source
from replaywright.domain.step.fingerprints import digest


def sealed(sketch: Sketch) -> Sketch:
    """Return the sketch without the constant texts of its requests."""
    return _changed(sketch, lambda one: SealedText(digest=_digest(one.text)) if isinstance(one, ConstantText) else one)


def unsealed(sketch: Sketch, texts: Mapping[str, str]) -> Sketch:
    """Return the sketch with the constant texts that it has in common with a run; `texts` are those, by digest."""

    def opened(source: Source) -> Source:
        if isinstance(source, SealedText) and source.digest in texts:
            return ConstantText(text=texts[source.digest])
        return source

    return _changed(sketch, opened)


def texts_in(sketch: Sketch) -> dict[str, str]:
    """Return the constant texts of a sketch by their digests."""
    sources = (source for call in sketch.calls for slot in _slots(call) for source in slot.sources)
    return {_digest(source.text): source.text for source in sources if isinstance(source, ConstantText)}


def _digest(text: str) -> str:
    return digest(text)[:24]


def _slots(call: RecipeCall) -> Iterator[Slot]:
    yield from call.slots
    yield from call.expected.path


def _changed(sketch: Sketch, change: Callable[[Source], Source]) -> Sketch:
    def slots(those: tuple[Slot, ...]) -> tuple[Slot, ...]:
        return tuple(each.model_copy(update={"sources": tuple(map(change, each.sources))}) for each in those)

    calls = tuple(
        call.model_copy(
            update={
                "slots": slots(call.slots),
                "expected": call.expected.model_copy(update={"path": slots(call.expected.path)}),
            }
        )
        for call in sketch.calls
    )
    return sketch.model_copy(update={"calls": calls})
