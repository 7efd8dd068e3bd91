"""Dash (React): `python -m bench.widgets.apps.dash_app`."""
# mypy: disable-error-code="import-not-found, untyped-decorator"

from typing import Any

from dash import Dash, Input, Output, dash_table, dcc, html

from bench.widgets.apps.heard import port, tell

COUNTRIES = ["Austria", "Belgium", "Denmark", "Finland", "France", "Germany", "Greece", "Italy", "Spain", "Sweden"]
CODES = [f"Item {number:04}" for number in range(1000)]
ROWS = [{"name": "Anna", "qty": 2}, {"name": "Boris", "qty": 4}]
COLUMNS = [{"name": "Name", "id": "name"}, {"name": "Qty", "id": "qty", "type": "numeric"}]
DROP_AREA = {"border": "1px dashed", "padding": "20px", "width": "300px"}


def _labelled(text: str, widget: Any) -> Any:
    return html.Div([html.Label(text, htmlFor=widget.id), widget], style={"maxWidth": "500px", "margin": "8px"})


app = Dash(__name__, serve_locally=True)
app.layout = html.Div(
    [
        _labelled("Country", dcc.Dropdown(COUNTRIES, "France", id="country")),
        _labelled("Item", dcc.Dropdown(CODES, id="item")),
        _labelled("Visited", dcc.Dropdown(COUNTRIES, ["Italy"], multi=True, id="visited")),
        _labelled("Day", dcc.DatePickerSingle(date="2026-11-02", id="day", display_format="YYYY-MM-DD")),
        _labelled(
            "Days",
            dcc.DatePickerRange(start_date="2026-11-02", end_date="2026-11-06", id="days", display_format="YYYY-MM-DD"),
        ),
        _labelled("Volume", dcc.Slider(0, 100, 5, value=50, marks=None, id="volume")),
        _labelled("Range", dcc.RangeSlider(0, 100, 5, value=[20, 80], marks=None, id="range")),
        _labelled("Name", dcc.Input("", type="text", id="name")),
        _labelled("Amount", dcc.Input(1, type="number", id="amount")),
        _labelled("Notes", dcc.Textarea("", id="notes")),
        dcc.Checklist(["Express", "Insured", "Gift"], ["Gift"], id="extras"),
        dcc.RadioItems(["Small", "Medium", "Large"], "Small", id="size"),
        dcc.Tabs([dcc.Tab(label="Home", value="home"), dcc.Tab(label="About", value="about")], "home", id="tab"),
        dcc.Upload(html.Div("Drop a file or click here"), id="file", style=DROP_AREA),
        dash_table.DataTable(ROWS, COLUMNS, id="table", editable=True, row_selectable="multi"),
        html.Button("Send", id="sent"),
        html.Pre(id="heard"),
    ]
)

_INPUTS = {
    **dict.fromkeys(("country", "item", "visited", "volume", "range", "name", "amount", "notes"), "value"),
    **dict.fromkeys(("extras", "size", "tab"), "value"),
    "day": "date",
    "file": "filename",
    "sent": "n_clicks",
}


@app.callback(
    {"text": Output("heard", "children")},
    {name: Input(name, kind) for name, kind in _INPUTS.items()}
    | {"start": Input("days", "start_date"), "end": Input("days", "end_date")}
    | {"rows": Input("table", "data"), "selected": Input("table", "selected_rows")},
)
def heard(**values: Any) -> dict[str, str]:
    """Tell every value, whichever has changed."""
    tell(values)
    return {"text": ""}


app.run(host="127.0.0.1", port=port(), debug=False)
