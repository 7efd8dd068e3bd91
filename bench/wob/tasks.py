"""All tasks that are measured."""

from bench.wob.clicking import CLICKING
from bench.wob.dragging import DRAGGING
from bench.wob.filling import FILLING
from bench.wob.mails import MAILS
from bench.wob.spec import Spec

SPECS: dict[str, Spec] = {spec.name: spec for spec in (*CLICKING, *FILLING, *MAILS, *DRAGGING)}
"""By name."""
