"""Tables of a document as rows of cells by column, as the page's reader gives them (`tableRows` in `probes.js`)."""

from collections.abc import Iterable

from replaywright.domain.requests.markup import MarkupElement, line_of
from replaywright.domain.requests.naming import role_of

_SPAN_LIMIT = 100
_HEADS = ("columnheader", "rowheader")


def rows_of(table: MarkupElement) -> list[dict[str, str]]:
    """Return the rows of a table as mappings from column header to cell text, without its head and what repeats it."""
    rows = [row for row in table.inside("tr") if row.is_visible and _table_of(row) is table]
    header = next((row for row in rows if _is_header(row)), None)
    names = _columns(_cells(header)) if header is not None else []
    said = _said(header) if header is not None else []
    body = [row for row in rows if not _is_header(row) and not (said and _is_in(row, "tfoot") and _said(row) == said)]
    return [{_column(names, index): text for index, text in enumerate(_said(row))} for row in body if row is not header]


def _column(names: list[str], index: int) -> str:
    return names[index] if index < len(names) else f"column {index + 1}"


def _table_of(row: MarkupElement) -> MarkupElement | None:
    return next((one for one in row.ancestors() if one.tag == "table"), None)


def _cells(row: MarkupElement) -> list[MarkupElement]:
    return [one for one in row.elements if one.tag in ("td", "th")]


def _said(row: MarkupElement) -> list[str]:
    return [line_of(cell) for cell in _cells(row)]


def _is_in(row: MarkupElement, part: str) -> bool:
    return row.parent is not None and row.parent.tag == part


def _is_header(row: MarkupElement) -> bool:
    cells = _cells(row)
    return bool(cells) and (_is_in(row, "thead") or all(role_of(cell) in _HEADS for cell in cells))


def _columns(cells: Iterable[MarkupElement]) -> list[str]:
    names: list[str] = []
    for cell in cells:
        name = line_of(cell) or f"column {len(names) + 1}"
        names.append(f"{name} {len(names) + 1}" if name in names else name)
        span = cell.get("colspan").strip()
        for _ in range(1, min(int(span), _SPAN_LIMIT) if span.isdecimal() else 1):
            names.append(f"column {len(names) + 1}")
    return names
