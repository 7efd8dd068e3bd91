"""What is read in a response without a browser is what the page shows that the browser makes of it."""

import json
import re

import pytest

from replaywright.domain.page.targets import ElementQuery
from replaywright.domain.requests.naming import KNOWN, name_of, role_of
from replaywright.domain.requests.tables import rows_of
from tests.pages.harness import PAGES, AgentPage
from tests.unit.test_static_documents import PAGE, page


@pytest.mark.parametrize("name", ["form.html", "orders.html", "roles.html", "browser_basic.html", ""])
async def test_texts_roles_names_and_tables_are_those_of_the_page(agent: AgentPage, name: str) -> None:
    whole = (PAGES / name).read_text(encoding="utf-8") if name else PAGE.replace("d-none", "")
    html = re.sub(r"(?s)<style.*?</style>", "", whole)  # what style sheets do to a page is not in its markup
    document = page(html)
    named = {(role_of(one), name_of(one, document.markup)) for one in document.markup.elements if one.is_visible}
    queries = [{"role": role, "name": said} for role, said in sorted(named) if role in KNOWN and said]
    await agent.show(html)

    values = await agent.call('replaywright.extract(0, {"text": {}, "table": {"take": "table"}})')
    answers = await agent.call(f"replaywright.probe({json.dumps([{'query': query} for query in queries])})")

    found = [len(document.matches(ElementQuery.model_validate(query)) or ()) for query in queries]
    beyond = [query for query, answer, count in zip(queries, answers, found, strict=True) if count > answer["count"]]
    assert not beyond
    assert sum(found) > 0
    assert document.title == await agent.page.title()
    assert list(document.lines) == values["text"].split("\n")
    assert next((rows_of(table) for table in document.markup.tagged("table")), None) == values["table"]
