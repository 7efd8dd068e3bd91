"""Default of the home folder, for what is imported before the settings are."""

import os
from collections.abc import Mapping


def default_home(environment: Mapping[str, str]) -> str:
    """Return `replaywright` in the state directory of the XDG base directory specification."""
    base = environment.get("XDG_STATE_HOME", "")
    # The specification says that a relative path is invalid and to be ignored.
    state = base if os.path.isabs(base) else os.path.join(os.path.expanduser("~"), ".local", "state")  # noqa: PTH111, PTH117, PTH118 - pathlib takes longer to import than the rest
    return os.path.join(state, "replaywright")  # noqa: PTH118 - as above
