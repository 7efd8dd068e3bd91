"""Skins of Django's admin that others wrote: the same forms and tables, in other markup, words and layouts."""

from collections.abc import Mapping
from typing import Final

SKINS: Final[Mapping[str, tuple[str, ...]]] = {
    "baton": ("baton",),
    "grappelli": ("grappelli",),
    "interface": ("admin_interface", "colorfield"),
    "jazzmin": ("jazzmin",),
    "semantic": ("semantic_admin", "semantic_forms"),
    "unfold": ("unfold",),
}
"""Applications that each puts before the admin."""
