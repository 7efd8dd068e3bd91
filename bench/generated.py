"""Pages made to a given size, built like real ones.

One is a back office: navigation, filters, a table of many rows, lists, cards. The other is a long document: nothing in
it repeats as a table's rows do.
"""

from html import escape

NAMES = ("Ada Byron", "Grace Hopper", "Edsger Dijkstra", "Barbara Liskov", "Alan Kay", "Radia Perlman", "Ken Thompson")
TOPICS = ("Minutes of Monday", "Invoice overdue", "Travel request", "New laptop", "Holiday plan", "Contract draft")
WORDS = (
    "The committee met in the small room and agreed to move the date, because half of the members were away. "
    "A new list of open questions goes out with the minutes, and answers are expected before the end of the week."
)
STYLE = """<style>
body{font:14px sans-serif;margin:0} nav ul{display:flex;list-style:none} nav li{padding:4px}
.layout{display:flex} aside{width:220px} main{flex:1} table{border-collapse:collapse} td{padding:3px 8px}
tr:hover{background:#eee} .card{border:1px solid #ccc;padding:8px;margin:4px;width:220px;display:inline-block}
.badge{border-radius:4px;padding:1px 4px} .hidden{display:none} button{cursor:pointer} label{display:block}
</style>"""

_FIXED = 277
"""Elements outside of the rows."""
_PER_ROW = 17


def _navigation() -> str:
    links = "".join(f'<li><a href="/section/{n}">Section {n}</a></li>' for n in range(20))
    return (
        '<header><h1>Back office</h1><form role="search"><input type="search" placeholder="Search">'
        f"<button>Search</button></form></header><nav aria-label='Main'><ul>{links}</ul></nav>"
    )


def _filters() -> str:
    fields = "".join(
        f'<label for="f{n}">Filter {n}</label><input id="f{n}" name="filter-{n}" value="">' for n in range(10)
    )
    ticks = "".join(f'<label><input type="checkbox" name="tag-{n}"> Tag {n}</label>' for n in range(12))
    options = "".join(f"<option>Choice {n}</option>" for n in range(20))
    return (
        f'<aside><form name="filters"><fieldset><legend>Filters</legend>{fields}</fieldset>{ticks}'
        f'<label>Order <select name="order">{options}</select></label>'
        f'<textarea placeholder="Note"></textarea><button type="submit">Apply</button></form></aside>'
    )


def _row(number: int) -> str:
    name = escape(NAMES[number % len(NAMES)])
    topic = escape(TOPICS[number % len(TOPICS)])
    state = ("open", "done", "late")[number % 3]
    return (
        f'<tr class="row"><td><input type="checkbox" name="pick" value="{number}" aria-label="Select {number}"></td>'
        f'<td><a href="/case/{number}"><b>{topic}</b> {number}</a></td>'
        f'<td><a class="person" href="/person/{number % 97}">{name}</a></td>'
        f'<td><span class="badge {state}">{state.title()}</span></td><td>{number % 28 + 1} May 2024</td>'
        f'<td><button type="button" class="edit">Edit</button><button type="button" class="remove">'
        '<svg width="12" height="12"><path d="M0 0h12v12"></path></svg><span>Remove</span></button></td></tr>'
    )


def _table(rows: int) -> str:
    heads = "".join(f"<th>{head}</th>" for head in ("", "Subject", "Person", "State", "Date", "Actions"))
    body = "".join(_row(number) for number in range(rows))
    return f"<table><caption>Cases</caption><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"


def _cards() -> str:
    return "".join(
        f'<div class="card"><h3>Project {n}</h3><p>{WORDS[: 60 + 7 * n]}</p><a href="/project/{n}">Open</a> '
        "<button>Follow</button></div>"
        for n in range(16)
    )


def _texts() -> str:
    items = "".join(f"<li>Notice {n}: {WORDS[:50]}</li>" for n in range(30))
    hidden = "".join(f"<p>Hidden {n}</p>" for n in range(20))
    return (
        f"<section><h2>Notices</h2><ul>{items}</ul><p>{WORDS}</p><p>{WORDS}</p>"
        f"<div class='hidden'>{hidden}</div></section>"
    )


def large_page(elements: int) -> str:
    """The markup of a page of about this many elements (within one percent from 1,000 on)."""
    rows = max(1, (elements - _FIXED) // _PER_ROW)
    return (
        f"<!doctype html><html lang='en'><head><title>Cases</title>{STYLE}</head><body>{_navigation()}"
        f"<div class='layout'>{_filters()}<main><h2>Cases</h2>{_texts()}{_cards()}{_table(rows)}</main></div>"
        "<footer><p>All times in UTC</p><a href='/imprint'>Imprint</a></footer></body></html>"
    )


def _chapter(number: int) -> str:
    words = WORDS.split()
    turned = " ".join(words[number % len(words) :] + words[: number % len(words)])
    first, second, third = turned[:70], turned[70:130], turned[130:]
    person, topic = NAMES[number % len(NAMES)], TOPICS[number % len(TOPICS)]
    blocks = (
        f"<p>{first} <em>{second}</em> <a href='/note/{number}'>note {number}</a> {third} <code>x{number}</code></p>",
        f"<h3>Part {number}: {first[:30]}</h3>",
        f"<blockquote class='q{number}'><p>{second}</p><footer>— <cite>{person}</cite></footer></blockquote>",
        f"<figure><img alt='Figure {number}' width='80'><figcaption>{first[:40]} <b>{number}</b></figcaption></figure>",
        f"<details><summary>More on {topic}</summary><p>{third}</p></details>",
        f"<form class='f{number}'><label>Answer {number} <input name='a{number}'></label><button>Save</button></form>",
        f"<p><span>{first}</span> <strong>{second[:20]}</strong> <time>{number % 28 + 1} May</time> <i>{third}</i></p>",
    )
    return "".join(blocks[(number * step) % len(blocks)] for step in (1, 2, 3, 5))


_PER_CHAPTER = 14.4
"""Elements, on average."""


def document_page(elements: int) -> str:
    """The markup of a long document of about this many elements, in which nothing repeats."""
    chapters = "".join(_chapter(number) for number in range(max(1, round(elements / _PER_CHAPTER))))
    return (
        f"<!doctype html><html lang='en'><head><title>Handbook</title>{STYLE}</head><body><main><h1>Handbook</h1>"
        f"{chapters}</main></body></html>"
    )
