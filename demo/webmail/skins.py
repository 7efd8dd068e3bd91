"""The looks of the webmail. A skin is a stack of template directories and a way of naming form controls.

The paths of the URLs and the features are the same in all of them; what changes is what a redesign changes: markup,
ids, names, wording, order. The numbered ids of `classic` are modelled on a real webmail, where one id is Send in one
skin and "Save as draft" in another; `identity-swap` is that case.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

DEFAULT_BUILD: Final = "2026.11"
FORM_FIELDS: Final = ("user", "password", "to", "cc", "subject", "body", "priority", "action", "draft")
BUILD_FIELD: Final = "build"
"""Hidden field of forms with generated names: tells which build named them, also after a redesign in between."""

SKINS: Final[Mapping[str, tuple[str, ...]]] = {
    "classic": ("classic",),
    "modern": ("modern",),
    "modern-icon": ("modern-icon", "modern"),
    "frames": ("frames", "classic"),
    "shadow": ("shadow", "modern"),
    "identity-swap": ("identity-swap", "classic"),
    "twins": ("twins", "classic"),
    "two-step": ("two-step", "classic"),
}
"""Name of a skin to its template directories, the first that has a template wins."""

OTHER_FLOWS: Final = frozenset({"two-step"})
"""Skins that are more than another look: the same task takes other steps there."""

_ALIASES: Final = {"2006": "classic", "2026": "modern"}


@dataclass(frozen=True)
class Skin:
    """One look of the site; `str()` of it is what `skin_from` reads."""

    name: str
    build: str = DEFAULT_BUILD
    """Seed of generated names: the same skin with another build has other ids, classes and control names."""

    def __str__(self) -> str:
        return self.name if self.build == DEFAULT_BUILD else f"{self.name}@{self.build}"

    @property
    def layers(self) -> tuple[str, ...]:
        """The template directories, most special first."""
        return SKINS[self.name]

    @property
    def generates_names(self) -> bool:
        """Whether names of form controls depend on the build."""
        return self.layers[-1] == "modern"

    def control_name(self, field: str) -> str:
        """The ``name`` attribute of a form control in this skin."""
        return f"f{_digest(self.build, 'name', field)}" if self.generates_names else f"_{field}"

    def element_id(self, part: str) -> str:
        """A generated ``id``, as component frameworks make them."""
        return f"ui-{_digest(self.build, 'id', part)}"

    def css_class(self, part: str) -> str:
        """A generated class name, as CSS modules make them."""
        return f"m{_digest(self.build, 'class', part)[:5]}"


def skin_from(text: str) -> Skin:
    """Read ``name`` or ``name@build``.

    Raises:
        ValueError: there is no such skin.
    """
    name, _, build = text.strip().partition("@")
    name = _ALIASES.get(name, name)
    if name not in SKINS:
        raise ValueError(f"no skin {name!r}; choose one of {', '.join(SKINS)}")
    return Skin(name, build or DEFAULT_BUILD)


def form_values(form: Mapping[str, str]) -> dict[str, str]:
    """The submitted values by plain field name, whichever skin and build the form was rendered in."""
    builder = Skin("modern", form.get(BUILD_FIELD, DEFAULT_BUILD))
    classic = Skin("classic")
    values: dict[str, str] = {}
    for field in FORM_FIELDS:
        for name in (field, classic.control_name(field), builder.control_name(field)):
            if name in form:
                values[field] = form[name]
    return values


def _digest(build: str, kind: str, part: str) -> str:
    return hashlib.sha256(f"{build}/{kind}/{part}".encode()).hexdigest()[:7]
