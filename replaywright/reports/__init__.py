"""A run as one HTML file that stands alone: see docs/reference/report.md."""

from replaywright.reports.loading import Loaded, load
from replaywright.reports.page import policy, rendered

__all__ = ["Loaded", "load", "policy", "rendered"]
