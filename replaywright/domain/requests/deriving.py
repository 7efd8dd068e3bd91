"""The recipe on which the sketches of several runs agree."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_

from replaywright.domain.common.templates import parameters_in, secrets_in
from replaywright.domain.requests.places import FormField, FormOption, JsonItem, RowLink
from replaywright.domain.requests.recipes import (
    AGREEING,
    SKETCHES_KEPT,
    ConstantText,
    ExpectedAnswer,
    FieldRead,
    FoundText,
    GivenText,
    Knowledge,
    Recipe,
    RecipeCall,
    Sketch,
    Slot,
    Source,
    ToldPredicate,
)
from replaywright.domain.requests.sealing import sealed, texts_in, unsealed
from replaywright.domain.requests.sketching import VERIFICATION, Unfit
from replaywright.domain.requests.slots import WHOLE, Address


def learned(known: Knowledge, new: Sketch, commits: Sequence[int]) -> Knowledge:
    """Return what is known with one more run: a recipe if it agrees with others, and what is missing if it does not.

    A run that contradicts the recipe begins the knowledge anew: the site has changed.
    """
    earlier = [each for each in known.sketches if each.run_id != new.run_id]
    sketches = (*earlier, sealed(new))[-SKETCHES_KEPT:]
    if len(sketches) < AGREEING:
        return Knowledge(sketches=sketches, why_not="one run through the page was seen, and two have to agree")
    runs = [*(unsealed(each, texts_in(new)) for each in sketches[:-1]), new]
    try:
        recipe = _with_earlier(derived(runs, commits), known.recipe)
        return Knowledge(sketches=_of_use(sketches, recipe), recipe=recipe)
    except Unfit:
        newest = sketches[-AGREEING:]
    try:
        recipe = derived(runs[-AGREEING:], commits)
        return Knowledge(sketches=_of_use(newest, recipe), recipe=recipe)
    except Unfit as error:
        return Knowledge(sketches=newest, why_not=str(error))


def _of_use(sketches: Sequence[Sketch], recipe: Recipe) -> tuple[Sketch, ...]:
    """Return the sketches without the requests that nobody needs: most of what a page sends."""
    refs = {call.ref for call in recipe.calls}
    return tuple(
        each.model_copy(update={"calls": tuple(call for call in each.calls if call.is_wanted or call.ref in refs)})
        for each in sketches
    )


def _with_earlier(recipe: Recipe, earlier: Recipe | None) -> Recipe:
    """Return a recipe with the forms and marks of values that earlier runs have shown, too."""
    if earlier is None:
        return recipe
    forms = {name: tuple(dict.fromkeys((*earlier.forms.get(name, ()), *of))) for name, of in recipe.forms.items()}
    marks = {name: "".join(sorted({*earlier.marks.get(name, ""), *of})) for name, of in recipe.marks.items()}
    return recipe.model_copy(update={"forms": forms, "marks": marks})


def derived(sketches: Sequence[Sketch], commits: Sequence[int]) -> Recipe:
    """Return the recipe of several runs.

    Raises:
        Unfit: they do not agree; names the first difference.
    """
    calls = tuple(_agreed(each) for each in _aligned(sketches))
    told = tuple(_told(sketches, commits))
    reads = tuple(_reads(sketches))
    calls, told, reads = _needed(calls, told, reads)
    pinned = {
        name: value
        for name, value in sketches[0].values.items()
        if all(each.values.get(name) == value for each in sketches)
    }
    used = _parameters_of(calls)
    if unused := [name for name in sketches[0].values if name not in pinned and name not in used]:
        raise Unfit(f"no request holds the value of {{{{{min(unused)}}}}}: scripts of the page make something of it")
    _require_needed(sketches[0], calls)
    commit = [index for index, call in enumerate(calls) if call.step in commits and call.is_unsafe]
    return Recipe(
        calls=calls,
        commit=commit[0] if commit else -1,
        told=told,
        reads=reads,
        pinned=pinned,
        forms={
            name: tuple(dict.fromkeys(each.forms.get(name, "") for each in sketches)) for name in sketches[0].values
        },
        marks={
            name: "".join(sorted(set().union(*(each.marks.get(name, "") for each in sketches))))
            for name in sketches[0].values
        },
    )


def _require_needed(sketch: Sketch, calls: Sequence[RecipeCall]) -> None:
    """Refuse requests without what a step acts on or enters: scripts of the page make something of it."""
    for step, name in sketch.needed:
        held = _used_by([call for call in calls if call.step >= step])
        if name in held:
            continue
        if name.startswith("secret:"):
            raise Unfit(f"step {step + 1}: no request holds {{{{{name}}}}}: scripts of the page make something of it")
        raise Unfit(f"step {step + 1} acts on what {{{{{name}}}}} names: no request says so, and only a page can tell")


@dataclass(frozen=True)
class _Same:
    """The same call of several runs."""

    calls: tuple[RecipeCall, ...]

    @property
    def first(self) -> RecipeCall:
        return self.calls[0]


def _aligned(sketches: Sequence[Sketch]) -> Iterator[_Same]:
    """Yield the calls that all runs sent; those that are wanted have to be in all of them."""
    for sketch in sketches[1:]:
        one, other = ([call.ref for call in each.calls if call.is_wanted] for each in (sketches[0], sketch))
        if one != other:
            only = [ref for ref in (*one, *other) if (ref in one) != (ref in other)] or one
            step, method, *_ = only[0].split(" ")
            raise Unfit(f"step {int(step) + 1}: not every run sends the same requests ({method})")
    for call in sketches[0].calls:
        same = [next((each for each in sketch.calls if each.ref == call.ref), None) for sketch in sketches]
        present = tuple(each for each in same if each is not None)
        if len(present) == len(same):
            yield _Same(present)


def _agreed(same: _Same) -> RecipeCall:
    """Return the call with the sources that all runs have in common, the likeliest of each slot.

    Raises:
        Unfit: it is another one in each run.
    """
    first = same.first
    is_wanted = first.is_wanted
    for other in same.calls[1:]:
        if _structure(other) != _structure(first):
            raise Unfit(f"{_place(first)}: its parts are others in each run")
    common = {
        slot.address: _common([call.slots[index].sources for call in same.calls])
        for index, slot in enumerate(first.slots)
    }
    slots = []
    for slot in _addressed(first.slots, common):
        if not common[slot.address] and is_wanted:
            where = " ".join(part for part in slot.address if not part.isdigit())
            raise Unfit(
                f"{_place(first)}: its {where} is another one in each run and stands neither in the parameters nor in "
                "an earlier response: a script makes it"
            )
        slots.append(slot.model_copy(update={"sources": _chosen(common[slot.address])}))
    return first.model_copy(
        update={
            "shape": same.calls[-1].shape,
            "slots": tuple(slots) if all(slot.sources for slot in slots) else (),
            "expected": _expected(same, follows=any(slot.address == WHOLE for slot in slots)),
            "unsent": dict(reduce(or_, (Counter(call.unsent) for call in same.calls))),
        }
    )


def _is_option(source: Source) -> bool:
    return isinstance(source, FoundText) and isinstance(source.place, FormOption)


def _structure(call: RecipeCall) -> object:
    shape = call.shape.model_copy(update={"headers": {}})
    return shape, tuple(slot.address for slot in call.slots)


def _place(call: RecipeCall) -> str:
    return f"step {call.step + 1}, {call.shape.method}"


def _common(options: Sequence[Sequence[Source]]) -> tuple[Source, ...]:
    others = [frozenset(each) for each in options[1:]]
    return tuple(dict.fromkeys(each for each in options[0] if all(each in other for other in others)))


def _addressed(slots: Sequence[Slot], common: Mapping[Address, tuple[Source, ...]]) -> list[Slot]:
    """Return the slots with one address: its parts, if they are known by the values, or what a link or form leads to.

    The same number in each run may be another one tomorrow, while the link that was followed still says which it is.
    """
    parts = [slot for slot in slots if slot.address[0] in ("origin", "path", "query")]
    chosen = [_chosen(common[slot.address]) for slot in parts]
    by_values = any(_parameters(source) for sources in chosen for source in sources)
    if common.get(WHOLE) and not (all(chosen) and by_values):
        return [slot for slot in slots if slot not in parts]
    return [slot for slot in slots if slot.address != WHOLE]


def _chosen(common: Sequence[Source]) -> tuple[Source, ...]:
    """Return the likeliest source, and those that have to agree: a field or an item may have held a value by chance."""
    given = next((each for each in common if _parameters(each)), None)
    if isinstance(given, FoundText) and isinstance(given.place, RowLink):
        return (given,)
    items = [each for each in common if isinstance(each, FoundText) and isinstance(each.place, JsonItem)]
    others: list[Source] = [each for each in common if items and isinstance(each, ConstantText)]
    others += [each for each in common if isinstance(each, GivenText) and _parameters(each)][:1]
    others += [] if given is None else [given]
    if common and isinstance(common[0], FoundText) and isinstance(common[0].place, FormField):
        others += [each for each in common[1:] if isinstance(each, GivenText) or _is_option(each)]
    return tuple(dict.fromkeys((*common[:1], *items, *others)))


def _expected(same: _Same, *, follows: bool) -> ExpectedAnswer:
    """Return what all responses had in common; of one that `follows` a link, another number may be in its address.

    Raises:
        Unfit: too little.
    """
    all_expected = [call.expected for call in same.calls]
    first = all_expected[0]
    if any((each.status, each.media_type) != (first.status, first.media_type) for each in all_expected):
        if same.first.is_wanted:
            raise Unfit(f"{_place(same.first)}: it is answered differently in each run")
        return first
    paths = [{slot.address: slot.sources for slot in each.path} for each in all_expected]
    if any(path.keys() != paths[0].keys() for path in paths) and same.first.is_wanted:
        raise Unfit(f"{_place(same.first)}: it leads to another address in each run")
    sources = {address: _common([each.get(address, ()) for each in paths])[:1] for address in paths[0]}
    path = tuple(
        Slot(address=address, sources=() if follows and _is_number(address, source) else source)
        for address, source in sources.items()
    )
    keys = tuple(key for key in first.keys if all(key in each.keys for each in all_expected))
    verdicts = {
        at: said
        for at, said in first.verdicts.items()
        if same.first.is_unsafe and all(each.verdicts.get(at) == said for each in all_expected)
    }
    filled = tuple(dict.fromkeys(at for each in all_expected for at in each.filled))
    query = first.query if all(each.query == first.query for each in all_expected) else None
    return first.model_copy(update={"path": path, "query": query, "keys": keys, "verdicts": verdicts, "filled": filled})


def _is_number(address: Address, sources: Sequence[Source]) -> bool:
    is_path = address[0] == "path"
    return is_path and any(isinstance(each, ConstantText) and re.search(r"\d", each.text) for each in sources)


def _told(sketches: Sequence[Sketch], commits: Sequence[int]) -> Iterator[ToldPredicate]:
    for told in sketches[0].told:
        same = [
            next((each for each in sketch.told if (each.step, each.index) == (told.step, told.index)), None)
            for sketch in sketches
        ]
        alike = all(each is not None and each.before == told.before for each in same)
        refs = tuple(ref for ref in told.refs if alike and all(each and ref in each.refs for each in same))
        if refs:
            yield told.model_copy(update={"refs": refs})
        elif told.step == VERIFICATION or told.step in commits:
            what = "the final verification" if told.step == VERIFICATION else f"step {told.step + 1}"
            raise Unfit(f"{what}: expectation {told.index + 1} is told by another response in each run")


def _reads(sketches: Sequence[Sketch]) -> Iterator[FieldRead]:
    for read in sketches[0].reads:
        same = [
            next((each for each in sketch.reads if (each.step, each.field) == (read.step, read.field)), None)
            for sketch in sketches
        ]
        readers = tuple(each for each in read.readers if all(one is not None and each in one.readers for one in same))
        if not readers:
            raise Unfit(f"step {read.step + 1}: {read.field} stands in another place in each run")
        yield read.model_copy(update={"readers": readers})


def _needed(
    calls: tuple[RecipeCall, ...], told: tuple[ToldPredicate, ...], reads: tuple[FieldRead, ...]
) -> tuple[tuple[RecipeCall, ...], tuple[ToldPredicate, ...], tuple[FieldRead, ...]]:
    """Return the recipe without calls that nobody needs, and without what only these tell.

    Raises:
        Unfit: one that is needed cannot be sent.
    """
    by_ref = {call.ref: call for call in calls}
    kept = {call.ref for call in calls if call.is_wanted}
    for each in told:
        if not kept.intersection(each.refs):
            kept.add(each.refs[-1])
        if each.before:
            kept.add(each.before)
    for read in reads:
        if not any(ref in kept for ref, _ in read.readers):
            kept.add(read.readers[-1][0])
    waiting = list(kept)
    while waiting:
        call = by_ref[waiting.pop()]
        if not call.slots:
            raise Unfit(f"{_place(call)}: what it asks for is another thing in each run")
        for ref in _suppliers(call):
            if ref not in by_ref:
                raise Unfit(f"{_place(call)}: what it sends comes from a response that not every run had")
            if ref not in kept:
                kept.add(ref)
                waiting.append(ref)
    return (
        tuple(call for call in calls if call.ref in kept),
        tuple(each.model_copy(update={"refs": tuple(ref for ref in each.refs if ref in kept)}) for each in told),
        tuple(
            each.model_copy(update={"readers": tuple(one for one in each.readers if one[0] in kept)}) for each in reads
        ),
    )


def _suppliers(call: RecipeCall) -> Iterator[str]:
    return (source.ref for slot in call.slots for source in slot.sources if isinstance(source, FoundText))


def _parameters_of(calls: Sequence[RecipeCall]) -> frozenset[str]:
    return frozenset().union(*(_parameters(source) for call in calls for slot in call.slots for source in slot.sources))


def _used_by(calls: Sequence[RecipeCall]) -> frozenset[str]:
    """Return the names of parameters that requests hold, and of secrets with `secret:` before."""
    sources = [source for call in calls for slot in call.slots for source in slot.sources]
    secrets = (name for source in sources if isinstance(source, GivenText) for name in secrets_in(source.template))
    return _parameters_of(calls).union(f"secret:{name}" for name in secrets)


def _parameters(source: Source) -> frozenset[str]:
    """Return the names of the parameters that decide what a source yields."""
    match source:
        case GivenText():
            return parameters_in(source.template)
        case FoundText():
            return parameters_in(source.place.model_dump_json())
        case _:
            return frozenset()
