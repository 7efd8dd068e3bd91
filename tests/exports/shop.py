"""A page with what a webmail has not: a frame, a shadow root, rows, a file, a question, another tab, a download."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from tests.e2e.plain_site import Answer, Asked, serving

_PAGE: Final = """<!doctype html>
<meta charset="utf-8"><title>Orders</title>
<h1>Orders</h1>
<table aria-label="Orders">
  <tr><th>Customer</th><th>State</th><th></th></tr>
  <tr><td>Ada Lovelace</td><td>open</td><td><button type="button">Choose</button></td></tr>
  <tr><td>Grace Hopper</td><td>open</td><td><button type="button">Choose</button></td></tr>
  <tr><td>Alan Turing</td><td>closed</td><td><button type="button">Choose</button></td></tr>
</table>
<p>Chosen: <output aria-label="Chosen">nobody</output></p>
<iframe name="payment" src="/payment" title="Payment" width="400" height="120"></iframe>
<x-coupon></x-coupon>
<label>Shipping <select id="shipping"><option value="s1">Slow</option><option value="s2">Fast</option></select></label>
<label>Note <textarea id="note"></textarea></label>
<label>Invoice <input type="file" id="invoice"></label>
<details id="more"><summary>More</summary><label><input type="checkbox" id="gift"> Gift</label></details>
<button type="button" id="empty">Empty the basket</button>
<a href="/terms" target="_blank" rel="opener">Terms</a>
<a href="/receipt.txt" download>Receipt</a>
<button type="button" id="order">Order</button>
<p role="status" id="status"></p>
<script>
  const state = { customer: "", emptied: false, terms: false };
  const at = (id) => document.getElementById(id);
  customElements.define("x-coupon", class extends HTMLElement {
    connectedCallback() {
      this.attachShadow({ mode: "open" }).innerHTML = '<label>Coupon <input id="coupon"></label>';
    }
  });
  for (const button of document.querySelectorAll("td button")) {
    button.onclick = () => {
      state.customer = button.closest("tr").cells[0].textContent;
      document.querySelector("output").value = state.customer;
    };
  }
  at("empty").onclick = () => {
    state.emptied = confirm("Empty it?");
    at("status").textContent = state.emptied ? "The basket is empty" : "The basket is as it was";
  };
  window.accepted = () => { state.terms = true; };
  at("order").onclick = async () => {
    const payment = document.querySelector("iframe").contentDocument;
    const order = {
      ...state,
      holder: payment.querySelector("#holder").value,
      save: payment.querySelector("#save").checked,
      coupon: document.querySelector("x-coupon").shadowRoot.querySelector("#coupon").value,
      shipping: at("shipping").value,
      note: at("note").value,
      invoice: at("invoice").files[0] ? await at("invoice").files[0].text() : "",
      gift: at("gift").checked,
    };
    const answer = await fetch("/api/orders", { method: "POST", body: JSON.stringify(order) });
    at("status").textContent = answer.ok ? "Ordered for " + state.customer : "refused";
  };
</script>"""
_PAYMENT: Final = """<!doctype html><meta charset="utf-8"><title>Payment</title>
<label>Card holder <input id="holder"></label><br>
<label><input type="checkbox" id="save"> Save the card</label>"""
_TERMS: Final = """<!doctype html><meta charset="utf-8"><title>Terms</title>
<button type="button" onclick="opener.accepted(); this.textContent = 'Accepted'">Accept</button>"""
_PAGES: Final = {"/": _PAGE, "/payment": _PAYMENT, "/terms": _TERMS}

TASK: Final = """\
task: order
url: "{{base_url}}/"
parameters:
  base_url: {}
  customer: {}
  shipping: {type: choice, choices: [Slow, Fast], default: Slow}
  note: {default: ""}
  invoice: {description: File of the invoice}
steps:
  - action: click
    instruction: the choose button of {{customer}}
    target: {role: button, name: Choose, within: {role: row, text: "{{customer}}"}}
    expect: [{text_contains: "{{customer}}", within: {role: status, name: Chosen}}]
  - {action: fill, instruction: the card holder, target: {role: textbox, name: Card holder}, value: "{{customer}}"}
  - action: check
    instruction: save the card
    target: {role: checkbox, name: Save the card}
    expect: [{checked: {role: checkbox, name: Save the card}}]
  - {action: fill, instruction: the coupon, target: {role: textbox, name: Coupon}, value: TEN}
  - action: select_option
    instruction: the shipping
    target: {role: combobox, name: Shipping}
    value: "{{shipping}}"
    expect: [{value_equals: "{{shipping}}", of: {role: combobox, name: Shipping}}]
  - {action: type, instruction: the note, target: {role: textbox, name: Note}, value: "{{note}}!"}
  - {action: expand, instruction: more, target: {css: summary}}
  - {action: check, instruction: gift, target: {role: checkbox, name: Gift}}
  - {action: upload, instruction: the invoice, target: {css: "#invoice"}, files: ["{{invoice}}"]}
  - action: click
    instruction: empty the basket
    target: {role: button, name: Empty the basket}
    effect: idempotent
    dialog: accept
    expect: [{dialog_seen: "Empty it?"}, {text_contains: The basket is empty}]
  - {action: click, instruction: the terms, target: {role: link, name: Terms}, effect: read}
  - {action: switch_tab, tab: latest}
  - action: click
    instruction: accept
    target: {role: button, name: Accept}
    effect: idempotent
    expect: [{exists: {role: button, name: Accepted}}]
  - {action: close_tab}
  - action: click
    instruction: the receipt
    target: {role: link, name: Receipt}
    effect: read
    expect: [{downloaded: "receipt*"}]
  - action: extract
    fields:
      open: {take: count, find: {role: row, text: open}}
      chosen: {find: {css: output}}
      orders: {take: table, find: {role: table, name: Orders}}
  - action: click
    instruction: order
    target: {role: button, name: Order}
    effect: commit
    expect:
      - {response_status: 201, of: /api/orders, method: POST}
      - {text_contains: "Ordered for {{customer}}"}
verify:
  - any_of: [{text_contains: "Ordered for {{customer}}"}, {url_contains: /done}]
  - not_: {text_contains: refused}
"""


@contextmanager
def shop() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The address of the page, and the orders that it receives."""
    orders: list[dict[str, Any]] = []

    def answer(asked: Asked) -> Answer:
        if asked.method == "POST":
            orders.append(json.loads(asked.body))
            return Answer("{}", 201, {"content-type": "application/json"})
        if asked.path == "/receipt.txt":
            headers = {"content-type": "text/plain", "content-disposition": "attachment; filename=receipt.txt"}
            return Answer("paid", headers=headers)
        return Answer(_PAGES[asked.path]) if asked.path in _PAGES else Answer(status=404)

    with serving(answer) as url:
        yield url, orders
