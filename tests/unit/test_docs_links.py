"""Links, anchors, pictures and paths in Markdown lead somewhere, and every page can be found from the index."""

import re
from pathlib import Path

import pytest

from tests.docs.markdown import ROOT, anchors_in, code_in, documents, leads_to, links_in, name_of
from tests.unit.named_tests import names_in

INDEX = ROOT / "docs" / "README.md"
WHERE_PATHS_BEGIN = (ROOT, ROOT / "replaywright", ROOT / "replaywright" / "browser", ROOT / "docs")
"""A path in a sentence is one of the repository, of the package, or of the documentation."""
A_FILE = re.compile(r"[\w.-]+(/[\w.@-]+)+\.(py|js|md|ya?ml|toml|json|txt|sh|html|css)(::\w+)?")
A_PLACEHOLDER = re.compile(r"[A-Z]+/")
"""Of a path that stands for one of a user's own."""


@pytest.mark.parametrize("path", documents(), ids=name_of)
def test_every_relative_link_and_anchor_leads_somewhere(path: Path) -> None:
    wrong = []
    for link in links_in(path):
        led = leads_to(path, link)
        if led is None:
            continue
        target, fragment = led
        if not target.exists():
            wrong.append(f"{link}: there is no such file")
        elif fragment and fragment not in anchors_in(target):
            wrong.append(f"{link}: {name_of(target)} has no such heading")

    assert wrong == []


@pytest.mark.parametrize("path", documents(), ids=name_of)
def test_every_path_that_a_page_names_exists(path: Path) -> None:
    named = [code for code in code_in(path) if A_FILE.fullmatch(code) and not A_PLACEHOLDER.match(code)]

    assert [code for code in named if not exists(code, path)] == []


def exists(code: str, path: Path) -> bool:
    file, _, test = code.partition("::")
    if test:
        return code in names_in(file)
    return any((where / file).is_file() for where in (*WHERE_PATHS_BEGIN, path.parent))


def test_every_page_can_be_reached_from_the_index() -> None:
    seen: set[Path] = set()
    pending = [INDEX]
    while pending:
        page = pending.pop()
        seen.add(page)
        led = [leads_to(page, link) for link in links_in(page)]
        pending += [one[0] for one in led if one and one[0].suffix == ".md" and one[0].exists() and one[0] not in seen]

    assert [name_of(page) for page in documents() if name_of(page).startswith("docs/") and page not in seen] == []


def test_the_readme_leads_to_the_index() -> None:
    readme = ROOT / "README.md"

    assert INDEX in [led[0] for link in links_in(readme) if (led := leads_to(readme, link))]
