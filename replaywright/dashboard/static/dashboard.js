// Progressive enhancement: what changes on the server changes here, without loading the page again.
// Without this script everything is there, as of the moment when the page was loaded.

const SECOND = 1000;

/** Make `now` look like `next`, touching only what differs: focus, selection and open parts stay. */
function morph(now, next) {
  if (now.isEqualNode(next)) return;
  if (now.nodeType !== next.nodeType || now.nodeName !== next.nodeName || keyOf(now) !== keyOf(next)) {
    now.replaceWith(next.cloneNode(true));
    return;
  }
  if (now.nodeType !== Node.ELEMENT_NODE) {
    if (now.nodeValue !== next.nodeValue) now.nodeValue = next.nodeValue;
    return;
  }
  for (const { name } of [...now.attributes]) {
    if (!next.hasAttribute(name) && name !== "open") now.removeAttribute(name);
  }
  for (const { name, value } of next.attributes) {
    if (now.getAttribute(name) !== value) now.setAttribute(name, value);
  }
  if (now.dataset.since === undefined || next.dataset.since === undefined) morphChildren(now, next);
}

function keyOf(node) {
  return node.nodeType === Node.ELEMENT_NODE ? (node.dataset.key ?? "") : "";
}

function morphChildren(now, next) {
  const keyed = new Map();
  for (const child of now.children) if (keyOf(child)) keyed.set(keyOf(child), child);
  let place = now.firstChild;
  for (const wanted of [...next.childNodes]) {
    const known = keyOf(wanted) ? keyed.get(keyOf(wanted)) : undefined;
    if (known !== undefined && known !== place) now.insertBefore(known, place);
    else if (known === undefined && (place === null || keyOf(place))) {
      now.insertBefore(wanted.cloneNode(true), place);
      continue;
    }
    const current = known ?? place;
    const following = current.nextSibling;
    morph(current, wanted);
    place = following;
  }
  while (place !== null) {
    const following = place.nextSibling;
    place.remove();
    place = following;
  }
}

function show({ id, digest, html }) {
  const region = document.getElementById(`r-${id}`);
  if (region === null || region.dataset.digest === digest) return;
  const focused = document.activeElement;
  const next = region.cloneNode(false);
  next.innerHTML = html; // made by our own server, which escapes whatever it did not write itself
  morphChildren(region, next);
  region.dataset.digest = digest;
  if (focused !== document.activeElement && focused.isConnected) focused.focus({ preventScroll: true });
  tick();
}

/** A length of time as the server says it. */
function lasting(seconds) {
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60)];
  if (hours >= 24) return `${Math.floor(hours / 24)} d ${hours % 24} h`;
  if (hours > 0) return `${hours} h ${minutes % 60} min`;
  return minutes > 0 ? `${minutes} min ${seconds % 60} s` : `${seconds} s`;
}

/** How long what is under way has been so. */
function tick() {
  for (const shown of document.querySelectorAll("[data-since]")) {
    const seconds = Math.max(0, Math.floor(Date.now() / SECOND - Number(shown.dataset.since)));
    shown.textContent = lasting(seconds);
  }
}

const said = document.getElementById("live");
let stream = null;

function say(text, state) {
  if (said === null || said.textContent === text) return;
  said.hidden = false;
  said.textContent = text;
  said.dataset.state = state;
}

function follow(address) {
  stream = new EventSource(address);
  stream.addEventListener("open", () => say("Live", "on"));
  stream.addEventListener("region", (event) => show(JSON.parse(event.data)));
  stream.addEventListener("end", () => {
    stop();
    delete document.body.dataset.live;
    say("Final", "end");
  });
  stream.addEventListener("error", () => {
    // The browser connects again by itself, unless it was refused.
    const refused = stream !== null && stream.readyState === EventSource.CLOSED;
    say(refused ? "Not live: reload" : "Reconnecting…", "off");
  });
}

function stop() {
  stream?.close();
  stream = null;
}

/** A page that nobody sees takes no connection: browsers have few of them for one server. */
function followIfSeen() {
  const address = document.body.dataset.live;
  if (document.hidden || address === undefined) stop();
  else if (stream === null) follow(address);
}

/** Draw a frame around the element of the last step, given as fractions of the picture: left, top, width, height. */
function frameElement(drawing, element, { width, height }) {
  if (element === null) return;
  const [left, top, wide, high] = element.split(" ").map(Number);
  const { color, backgroundColor } = getComputedStyle(drawing.canvas);
  for (const [colour, lineWidth] of [[backgroundColor, 7], [color, 3]]) {
    [drawing.strokeStyle, drawing.lineWidth] = [colour, lineWidth];
    drawing.strokeRect(left * width - 4, top * height - 4, wide * width + 8, high * height + 8);
  }
}

/** Show the page of a run as its browser shows it, while somebody looks. */
async function watch(screen) {
  const [canvas, note] = [screen.querySelector("canvas"), screen.querySelector("p")];
  const say = (text) => {
    if (note.textContent !== text) note.textContent = text;
    note.hidden = text === "";
  };
  let seen = 0;
  while (screen.open && !document.hidden && document.body.dataset.live !== undefined) {
    const answer = await fetch(`${screen.dataset.screen}&seen=${seen}`).catch(() => null);
    if (answer?.headers.get("Content-Type") === "image/jpeg") {
      const picture = await createImageBitmap(await answer.blob());
      [canvas.width, canvas.height, canvas.hidden] = [picture.width, picture.height, false];
      const drawing = canvas.getContext("2d");
      drawing.drawImage(picture, 0, 0);
      frameElement(drawing, answer.headers.get("X-Element"), picture);
      seen = Number(answer.headers.get("X-Picture"));
      say("");
    } else if (answer?.status !== 204) {
      say(answer === null ? "The dashboard does not answer." : await answer.text());
      await new Promise((resolve) => setTimeout(resolve, 2 * SECOND));
    }
  }
  if (document.body.dataset.live === undefined) say("The run has ended.");
  screen.dataset.watched = "";
}

/** Watch if it is opened, and nobody watches for this page yet. */
function watchIfOpen() {
  const screen = document.getElementById("screen");
  if (screen === null || !screen.open || document.hidden || screen.dataset.watched === "yes") return;
  screen.dataset.watched = "yes";
  watch(screen);
}

async function copy(button) {
  await navigator.clipboard.writeText(button.dataset.copy);
  button.classList.add("copied");
  setTimeout(() => button.classList.remove("copied"), 1.5 * SECOND);
}

document.documentElement.classList.add("js");
document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-copy]");
  if (button !== null) copy(button);
});
if (document.body.dataset.retry !== undefined) {
  setTimeout(() => location.reload(), 3 * SECOND);
} else {
  document.addEventListener("visibilitychange", followIfSeen);
  window.addEventListener("pagehide", stop);
  window.addEventListener("pageshow", followIfSeen);
  document.addEventListener("visibilitychange", watchIfOpen);
  document.getElementById("screen")?.addEventListener("toggle", watchIfOpen);
}
setInterval(tick, SECOND);
tick();
