"""The pages: one form, and for each behaviour what its script does with it; an outbox, and what else there is."""

from bench.message_site.behaviours import Behaviour

SENT = "Message sent"
"""What the page says when it takes the message for sent."""
WENT_WRONG = "Something went wrong"
TITLE = "New message"
"""Title of the page on which a message is written."""

_PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title></head>
<body><h1>{title}</h1>{body}</body></html>"""
_FORM = """<form id="form" method="post" action="{at}" data-press="{press}">
<input type="hidden" name="press" value="{press}">
<p><label>Subject <input name="subject" id="subject" autocomplete="off"></label></p>
<p><label>Message <textarea name="body"></textarea></label></p>
<p>{control} <output id="said" role="status"></output></p></form>
<script>
const at = "{at}", delay = {delay}, form = document.querySelector("#form"), field = form.subject;
const control = document.querySelector("#send"), said = document.querySelector("#said");
const wait = Number(new URLSearchParams(location.search).get("wait"));
if (wait) control.addEventListener("click", (event) => {{
  if (!event.isTrusted) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  setTimeout(() => control.click(), wait);
}}, {{capture: true}});
const say = (text = "{sent}") => {{ said.textContent = text; }};
const drawn = () => form.dataset.press || crypto.randomUUID();
const pressed = () => new URLSearchParams({{subject: field.value, press: drawn()}});
const post = async (data, options = {{}}) => {{
  const answer = await fetch(at, {{method: "POST", body: data, ...options}});
  if (!answer.ok) throw new Error(answer.status);
}};
const byForm = () => {{
  control.type = "submit";
  form.onsubmit = () => {{ form.press.value = drawn(); }};
}};
{script}
</script>"""
_OUTBOX = """<p id="state" role="status">Looking for it …</p><p>Reference: <span data-testid="reference"></span></p>
<script>
  const look = async () => {
    const answer = await fetch("/outbox.json" + location.search, {cache: "no-store"});
    const mail = await answer.json();
    if (!mail.subject) { setTimeout(look, 100); return; }
    document.querySelector("#state").textContent = mail.subject + " is in the outbox";
    document.querySelector("[data-testid=reference]").textContent = mail.reference;
  };
  look();
</script>"""
_NOTE = '<p><label>Note <input name="note" autocomplete="off"></label></p>'
_BUTTON = '<button type="button" id="send">Send</button>'
_LINK = '<a id="send" href="#">Send</a>'
_TO_SERVICE_WORKER = 'navigator.serviceWorker.register("/worker/{page}.js?at=" + at, {scope: location.pathname});'

_TO_KEEPER = """%s
        const controlled = new Promise((ready) => {
          if (navigator.serviceWorker.controller) ready();
          navigator.serviceWorker.addEventListener("controllerchange", ready);
        });
        control.onclick = async () => { const data = pressed(); await controlled; await post(data); say(); };"""
_SCRIPTS = {
    "form": "byForm();",
    "fetch": "control.onclick = () => post(pressed()).then(() => say());",
    "late": "control.onclick = () => { const data = pressed(); say(); setTimeout(() => post(data), delay); };",
    "beacon_on_leaving": """let data = null;
        control.onclick = () => { data = pressed(); say(); };
        addEventListener("pagehide", () => { if (data) navigator.sendBeacon(at, data); data = null; });""",
    "service_worker_late": """%s
        control.onclick = async () => {
          const data = pressed().toString(); say();
          (await navigator.serviceWorker.ready).active.postMessage({data, delay});
        };""",
    "service_worker_retries": _TO_KEEPER,
    "service_worker_answers": _TO_KEEPER,
    "service_worker_forgets": _TO_KEEPER,
    "retries": """const send = (data) => post(data).then(() => say(), () => setTimeout(() => send(data), 3000));
        control.onclick = () => send(pressed());""",
    "sending": """control.onclick = () => {
          if (said.textContent) return;
          say("Sending…");
          post(pressed(), {keepalive: true}).then(() => say(), () => {});
        };""",
    "twice": """control.onclick = () => {
          const data = pressed();
          Promise.all([post(data), post(data)]).then(() => say());
        };""",
    "own_beacons": """for (const kind of ["focus", "input", "change"])
          field.addEventListener(kind, () => navigator.sendBeacon("/analytics", kind));
        setInterval(() => navigator.sendBeacon("/analytics", "alive"), 400);
        control.onclick = () => post(pressed()).then(() => say());""",
    "nothing": "control.onclick = () => say();",
    "counted": """control.onclick = () => {
          const data = pressed(); say(); fetch("/analytics", {method: "POST", body: "a press"});
          if (delay) setTimeout(() => post(data), delay);
        };""",
    "alive": """setInterval(() => navigator.sendBeacon("/analytics", "alive"), 400);
        control.onclick = () => say();""",
    "says_goodbye": """addEventListener("pagehide", () => navigator.sendBeacon("/analytics", "left"));
        control.onclick = () => say();""",
    "outbox_local": """const flush = () => {
          const data = localStorage.getItem("outbox");
          if (data) post(new URLSearchParams(data)).then(() => localStorage.removeItem("outbox"), () => {});
        };
        control.onclick = () => { localStorage.setItem("outbox", pressed()); say(); flush(); };
        setInterval(flush, 3000); flush();""",
    "outbox_indexed": """const opened = new Promise((ready) => {
          const asked = indexedDB.open("outbox", 1);
          asked.onupgradeneeded = () => asked.result.createObjectStore("mails");
          asked.onsuccess = () => ready(asked.result);
        });
        const store = async () => (await opened).transaction("mails", "readwrite").objectStore("mails");
        const flush = async () => {
          const asked = (await store()).get(1);
          asked.onsuccess = () => {
            if (!asked.result) return;
            post(new URLSearchParams(asked.result)).then(async () => (await store()).delete(1), () => {});
          };
        };
        control.onclick = async () => { (await store()).put(pressed().toString(), 1); say(); flush(); };
        setInterval(flush, 3000); flush();""",
    "keepalive": 'control.onclick = () => { post(pressed(), {keepalive: true}); location = "/sent"; };',
    "form_by_script": "control.onclick = () => { form.press.value = drawn(); form.submit(); };",
    "get_link": 'control.onmousedown = () => { control.href = at + "?" + pressed(); };',
    "get_image": """control.onclick = () => {
          const image = new Image();
          image.onload = () => say();
          image.src = at + "?" + pressed();
        };""",
    "websocket": """const place = location.origin.replace("http", "ws") + at.replace("submit", "socket");
        const socket = new WebSocket(place);
        socket.onmessage = () => say();
        control.onclick = () => socket.send(pressed());""",
    "new_tab": 'byForm(); form.target = "_blank";',
    "popup": """onmessage = () => say();
        control.onclick = () => window.open(at.replace("submit", "popup") + "?" + pressed());""",
    "autosave_input": "field.oninput = () => post(pressed()).then(() => say());",
    "autosave_change": "field.onchange = () => post(pressed()).then(() => say());",
    "autosave_debounce": """let timer = 0;
        field.oninput = () => {
          clearTimeout(timer);
          timer = setTimeout(() => post(pressed()).then(() => say()), 1500);
        };""",
    "optimistic": "control.onclick = () => { say(); post(pressed()).catch(() => {}); };",
}
_ANSWERS = """
        onactivate = (event) => event.waitUntil(clients.claim());
        onfetch = (event) => {
          if (event.request.method !== "POST") return;
          event.respondWith(event.request.text().then((body) => {
            %s
            return new Response("kept", {status: 202});
          }));
        };"""
WORKERS = {
    "service_worker_answers": _ANSWERS
    % """event.waitUntil(new Promise((over) => setTimeout(over, 4000))
              .then(() => fetch(at, {method: "POST", body: new URLSearchParams(body)})));""",
    "service_worker_forgets": _ANSWERS % "void body;",
    "service_worker_late": """onmessage = (event) => event.waitUntil(
          new Promise((over) => setTimeout(over, event.data.delay))
            .then(() => fetch(at, {method: "POST", body: new URLSearchParams(event.data.data)})));""",
    "service_worker_retries": """
        const send = (body) => fetch(at, {method: "POST", body: new URLSearchParams(body)})
          .catch(() => new Promise((over) => setTimeout(over, 1000)).then(() => send(body)));"""
    + _ANSWERS % "event.waitUntil(send(body));",
}


def page_of(behaviour: Behaviour, press: str = "") -> str:
    """The page on which a message is written; `wait` in its address delays what a press does, by milliseconds.

    Presses are called `press`, as sites give tokens; without one the page draws a name for each.
    """
    script = _SCRIPTS[behaviour.page]
    if behaviour.page in WORKERS:
        script = script.replace("%s", _TO_SERVICE_WORKER.replace("{page}", behaviour.page))
    control = _LINK if behaviour.action == "open" else _BUTTON
    body = _FORM.format(
        at=f"/submit/{behaviour.name}",
        delay=behaviour.delay_ms,
        control=control,
        sent=SENT,
        script=script,
        press=press,
    )
    return _PAGE.format(title=TITLE, body=body)


def worker_of(page: str) -> str:
    """The script of a page's service worker, which is told in its address where to send."""
    return f'const at = new URL(location).searchParams.get("at");\n{WORKERS[page]}'


def popup_of(behaviour: Behaviour) -> str:
    """What a popup shows: it sends what its address says."""
    return _PAGE.format(
        title="Sending",
        body=f"""<output id="said" role="status"></output><script>
fetch("/submit/{behaviour.name}", {{method: "POST", body: new URLSearchParams(location.search)}}).then(() => {{
  document.querySelector("#said").textContent = "{SENT}"; opener?.postMessage("sent");
}});</script>""",
    )


def outbox() -> str:
    """A page that shows the message of the subject in its address as soon as that is visible."""
    return plain("Outbox", _OUTBOX)


def note() -> str:
    """A page with a field that nothing becomes of."""
    return plain("Note", _NOTE)


def plain(title: str, body: str = "") -> str:
    """A page that only says something."""
    return _PAGE.format(title=title, body=body)
