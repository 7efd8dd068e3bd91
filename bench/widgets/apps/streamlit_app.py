"""Streamlit (React with BaseWeb): `python -m streamlit run bench/widgets/apps/streamlit_app.py`."""
# mypy: disable-error-code="import-not-found, import-untyped"

import datetime as dt

import pandas as pd
import streamlit as st

from bench.widgets.apps.heard import tell

COUNTRIES = ["Austria", "Belgium", "Denmark", "Finland", "France", "Germany", "Greece", "Italy", "Spain", "Sweden"]
CODES = [f"Item {number:04}" for number in range(1000)]

values: dict[str, object] = {}
if st.query_params.get("part") == "choices":
    values["country"] = st.selectbox("Country", COUNTRIES)
    values["item"] = st.selectbox("Item", CODES, index=None, placeholder="Choose an item")
    values["visited"] = st.multiselect("Visited", COUNTRIES, default=["Italy"])
    values["items"] = st.multiselect("Items", CODES)
    values["size"] = st.radio("Size", ["Small", "Medium", "Large"])
    values["agree"] = st.checkbox("I agree")
    values["sound"] = st.toggle("Sound", value=True)
    values["span"] = st.segmented_control("Span", ["Day", "Week", "Month"], default="Day")
    values["tags"] = st.pills("Tags", ["red", "green", "blue"], selection_mode="multi")
    values["stars"] = st.feedback("stars")
    with st.popover("Filters"):
        values["open"] = st.checkbox("Open only")
    with st.expander("More"):
        values["express"] = st.checkbox("Express")
    values["sent"] = st.button("Send")
else:
    values["name"] = st.text_input("Name")
    values["notes"] = st.text_area("Notes")
    values["amount"] = st.number_input("Amount", value=1.0, step=0.5)
    values["day"] = st.date_input("Day", value=dt.date(2026, 11, 2))
    values["days"] = st.date_input("Days", value=(dt.date(2026, 11, 2), dt.date(2026, 11, 6)))
    values["alarm"] = st.time_input("Alarm", value=dt.time(8, 45))
    values["volume"] = st.slider("Volume", 0, 100, 50)
    values["range"] = st.slider("Range", 0, 100, (20, 80))
    values["step"] = st.select_slider("Step", ["low", "middle", "high", "highest"])
    values["paint"] = st.color_picker("Paint", "#000000")
    file = st.file_uploader("Attachment")
    values["file"] = [file.name, file.size] if file else None
    first, second = st.tabs(["Home", "About"])
    with second:
        values["motto"] = st.text_input("Motto")
    values["chat"] = st.chat_input("Say something")
    table = pd.DataFrame({"name": ["Anna", "Boris"], "qty": [2, 4]})
    values["table"] = st.data_editor(table, key="table").to_dict("records")
tell(values)
