"""Pairs of versions of one page: the demo webmail's skins against each other, the old Django admin against the new.

The true element is the one with the same purpose, whatever it looks like: the field that the server reads under the
same name, the button that submits the same value to the same form, the link to the same address. Where both pages have
one element of a role and name, a person takes it for the same, so it is right, too: skins lead the same link to a page
of their own.
"""

import random
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Sequence
from itertools import permutations

from bench.mutations import key_of
from bench.scenes import Look, Scene, record, stage_on
from bench.sources import Source
from replaywright.domain.common.text import normalise
from replaywright.domain.page.snapshots import Element
from replaywright.domain.page.targets import Target

PURPOSES = """
names => {
  const known = new Map(names);
  const field = (name) => known.get(name) ?? name;
  const found = {};
  const roots = [[document, ""]];
  for (const [root, frames] of roots) {
    for (const element of root.querySelectorAll("*")) {
      if (element.shadowRoot) roots.push([element.shadowRoot, frames]);
      if (element.tagName === "IFRAME" && element.contentDocument) {
        const index = Array.from(root.querySelectorAll("iframe")).indexOf(element);
        roots.push([element.contentDocument, frames ? `${frames}.${index}` : String(index)]);
      }
      const purpose = purposeOf(element);
      if (purpose) found[`${frames}|${pathOf(element)}`] = purpose;
    }
  }
  return found;

  function purposeOf(element) {
    const tag = element.tagName;
    const [path, query] = tag === "A" ? (element.getAttribute("href") ?? "").split("?") : [];
    // Queries have numbers in them that each copy of a site gives anew.
    if (path) return `link ${path} ${query ? element.textContent.trim() : ""}`.trim();
    const action = element.form ? new URL(element.form.action || location.href, location.href).pathname : "";
    const submits = tag === "BUTTON" ? element.type === "submit" : tag === "INPUT" && element.type === "submit";
    if (element.dataset?.action) return "submit /compose action=" + element.dataset.action;
    if (element.getAttribute("role") === "button" && /^Dispatch/.test(element.textContent.trim())) {
      return "submit /compose action=send";
    }
    if (submits) {
      // A form with nothing to fill in, and a link to where it leads, are for the same thing.
      const asks = Array.from(element.form?.elements ?? []).some((each) => each !== element && each.type !== "hidden");
      if (!element.name && element.form && !asks) return "link " + action;
      const said = element.name ? `${field(element.name)}=${tag === "INPUT" ? "" : element.value}` : "";
      return `submit ${action} ${said}`.trim();
    }
    if (/^(?:INPUT|SELECT|TEXTAREA)$/.test(tag) && element.name && element.type !== "hidden") {
      return `field ${field(element.name)}${element.type === "radio" ? "=" + element.value : ""}`;
    }
    return "";
  }
  function pathOf(element) {
    const steps = [];
    for (let at = element; at; ) {
      const parent = at.parentNode;
      const tag = at.localName;
      const like = Array.from(parent?.children ?? []).filter((child) => child.localName === tag);
      steps.push(tag === "html" || tag === "body" ? tag : `${tag}[${like.indexOf(at) + 1}]`);
      if (parent && parent.host) steps.push("#shadow"), (at = parent.host);
      else at = parent && parent.nodeType === 1 ? parent : null;
    }
    return "/" + steps.reverse().join("/");
  }
}
"""
"""What each element is for, by its key; elements without a purpose of their own are left out."""


async def scenes_of_pairs(sources: Sequence[Source], *, pairs: int, limit: int, seed: int) -> AsyncIterator[Scene]:
    """Every page of a site in its versions, with what was recorded in others; `pairs` of versions, drawn if needed."""
    draw = random.Random(f"{seed} pairs")
    versions: dict[tuple[str, str], list[Source]] = defaultdict(list)
    for source in sources:
        if source.version:
            versions[source.site, source.name].append(source)
    for pages in versions.values():
        every = list(permutations(pages, 2))
        for before, after in draw.sample(every, min(pairs, len(every))):
            scene = await _pair(before, after, limit, seed)
            if scene is not None:
                yield scene


async def _pair(before: Source, after: Source, limit: int, seed: int) -> Scene | None:
    async with stage_on(before) as old:
        await old.open(before)
        recorded = await record(old, limit, random.Random(f"{seed} {before.url}").randrange(2**32))
        purposes: dict[str, str] = await old.page.evaluate(PURPOSES, [list(pair) for pair in before.field_names])
    meant = [(target, purposes[key_of(target)]) for target in recorded.targets if key_of(target) in purposes]
    if not meant:
        return None
    async with stage_on(after) as new:
        await new.open(after)
        snapshot = await new.snapshot()
        looks = await new.look([target for target, _ in meant])
        now: dict[str, str] = await new.page.evaluate(PURPOSES, [list(pair) for pair in after.field_names])
    only = _only_of_their_name(snapshot.elements)
    return Scene(
        source=f"{before.site}:{before.version}→{after.version}{before.name}",
        site=before.site,
        calibrates=before.calibrates,
        operators=("version",),
        elements=snapshot.elements,
        looks=tuple(
            Look(
                recorded=target,
                candidates=candidates,
                certain=certain,
                truth=frozenset(key for key, other in now.items() if other == purpose) | _namesake(target, only),
                recognisable=False,
                affected=True,
            )
            for (target, purpose), (candidates, certain) in zip(meant, looks, strict=True)
        ),
    )


def _only_of_their_name(elements: Sequence[Element]) -> dict[tuple[str, str], str]:
    """The keys of the elements that no other one of the page has the role and name of."""
    usable = [element.target for element in elements if element.visible and element.actionable]
    counts = Counter((target.role, normalise(target.name)) for target in usable)
    named = [(target, (target.role, normalise(target.name))) for target in usable if target.name]
    return {called: key_of(target) for target, called in named if counts[called] == 1}


def _namesake(recorded: Target, only: dict[tuple[str, str], str]) -> frozenset[str]:
    """The only element that is called like one that was alone of its name, too."""
    key = only.get((recorded.role, normalise(recorded.name))) if recorded.namesakes <= 1 else None
    return frozenset() if key is None else frozenset({key})
