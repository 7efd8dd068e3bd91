/* Answers to Python's probes: queries on elements, texts, the state and value of an element. */

const ROLE_ALIASES = { image: "img", none: "", presentation: "", generic: "", directory: "list" };
const STATES_SHOWN = 3;

/** Text of a label as people write it in a task: without the colon or star at its end. */
const bareLabel = (text) => normalise(text).replace(/[\s:*]+$/, "");

/** The words of each label of an element, without the links and buttons in it: "Password", beside which stands "Lost password". */
const ownLabelsOf = (element, reading) => reading.labels(element).map((label) => {
  let words = "";
  for (let part = firstChildOf(label); part; part = nextSiblingOf(part)) {
    words += isElement(part) && matches(part, PRESSED) ? " " : rawText(part, reading, true);
  }
  return words;
});

/** What is drawn before or after the words of a name ("More ▾", "🗑 Delete"). */
const SIGNS = "(?:[\\p{So}\\p{Me}\\u2190-\\u21ff×]|\\ufe0f)+";
const OUTER_SIGNS = new RegExp(`^${SIGNS} | ${SIGNS}$`, "gu");

/** The current value as a reader sees it: the chosen option's label, the text of an editor; never a password. */
function valueOf(element, reading) {
  if (isSecret(element)) return "";
  if (element instanceof HTMLInputElement) {
    return /^(?:button|submit|reset|image|checkbox|radio|hidden)$/.test(inputTypeOf(element)) ? "" : inputValueOf(element);
  }
  const surface = reading.surfaceOf(element);
  if (surface) return drawnText(surface, reading);
  if (element instanceof HTMLTextAreaElement) return textareaValueOf(element);
  if (element instanceof HTMLSelectElement) return selectedLabels(element).join(", ");
  if (isEditingHost(element)) return readText(element, reading);
  if (attr(element, "role") === "combobox") return textOf(element, reading);
  return attr(element, "aria-valuetext") || attr(element, "aria-valuenow");
}

/** Checked as true, false, or null when the element knows no such thing. */
function checkedOf(element) {
  if (element instanceof HTMLInputElement && /^(?:checkbox|radio)$/.test(inputTypeOf(element))) {
    return inputCheckedOf(element);
  }
  const state = attr(element, "aria-checked") || attr(element, "aria-pressed");
  return state ? state === "true" : null;
}

/** Returns whether what the element opens and closes is open; null when it opens nothing. */
function expandedOf(element) {
  const details = tagOf(element) === "summary" ? flatParent(element) : element;
  if (details && tagOf(details) === "details") return has(details, "open");
  const state = attr(element, "aria-expanded");
  if (state) return state === "true";
  const popover = byId(getRoot(element), attr(element, "popovertarget"));
  return popover ? matches(popover, ":popover-open") : null;
}

/** Returns whether the keys go to the element: it has the focus, or is the active descendant of what has. */
function isFocused(element) {
  const active = Document.prototype.hasFocus.call(document) ? deepActive() : null;
  return active === element || Boolean(active && byId(getRoot(active), attr(active, "aria-activedescendant")) === element);
}

function elementState(element, reading) {
  const { role, name } = identityOf(element, reading);
  return {
    role,
    name: cut(name, 200),
    text: textOf(element, reading, 2000),
    value: cut(valueOf(element, reading), 10000),
    visible: reading.isShown(element),
    focused: isFocused(element),
    checked: checkedOf(element),
    enabled: !isDisabled(element),
  };
}

const isInAccessibilityTree = (element) => {
  for (let at = element; at; at = flatParent(at)) if (attr(at, "aria-hidden") === "true") return false;
  return true;
};

/** Elements that the cheapest field of a query leads to; the other fields are checked on these. */
function startingFrom(query, reading) {
  const all = (selector) => reading.roots.flatMap((root) => Array.from(queryAll(root, selector)));
  if (query.css) return query.css.includes(" >>> ") ? byCss(query.css, reading.roots) : all(query.css);
  if (query.test_id) return all(TEST_IDS.map((name) => `[${name}=${quoted(query.test_id)}]`).join(","));
  if (query.role === "overlay") return overlaysOf(reading);
  if (query.role) {
    const role = ROLE_ALIASES[query.role] ?? query.role;
    return role ? byRole(role, "", reading) : all("*");
  }
  if (query.placeholder) return all("[placeholder],[aria-placeholder]");
  if (query.label) return all("input,select,textarea,button,meter,output,progress,body,[contenteditable],[role],[aria-label]");
  return all("*");
}

function hasRole(element, role, reading) {
  if (role === "overlay") return overlaysOf(reading).includes(element);
  return roleOf(element, reading) === (ROLE_ALIASES[role] ?? role);
}

const normalisedLists = new WeakMap();

/** A list of a query, normalised once. */
function normalisedOf(list) {
  let normalised = normalisedLists.get(list);
  if (!normalised) normalisedLists.set(list, (normalised = list.map(normalise)));
  return normalised;
}

function answersTo(element, query, reading, textIn = readingText) {
  if (query.role && !hasRole(element, query.role, reading)) return false;
  if (query.test_id && !TEST_IDS.some((name) => attr(element, name) === query.test_id)) return false;
  if (query.placeholder) {
    const placeholder = saidOf(element, "placeholder") || saidOf(element, "aria-placeholder");
    if (normalise(placeholder) !== normalise(undated(query.placeholder))) return false;
  }
  if (given(query.name) && !isNamedSo(element, query, reading, true)) return false;
  if (query.name_contains && !contains(nameForQuery(element, query, reading), query.name_contains)) return false;
  if (query.name_in && !normalisedOf(query.name_in).includes(normalise(nameForQuery(element, query, reading)))) return false;
  if (query.label) {
    const role = roleOf(element, reading);
    const wanted = bareLabel(query.label);
    const called = [labelOf(element, role, reading), nameOf(element, reading), ...ownLabelsOf(element, reading)];
    if (!called.some((text) => bareLabel(text) === wanted)) return false;
  }
  if (query.text && !contains(textIn(element, reading), query.text)) return false;
  if (query.text_in) {
    const text = textIn(element, reading);
    if (!query.text_in.some((wanted) => contains(text, wanted))) return false;
  }
  return true;
}

/** Returns whether the page itself declares this as the element's label. */
function isCalled(element, label, reading) {
  const own = labelsOf(element).map((each) => textOf(each, reading, 120)).join(" ");
  return [own, nameOf(element, reading)].some((text) => bareLabel(text) === bareLabel(label));
}

const given = (value) => value !== null && value !== undefined;

// What has no role has no accessible name, but a task that names nothing else means what it reads.
const nameForQuery = (element, query, reading) =>
  nameOf(element, reading) || (query.css || query.test_id ? identityOf(element, reading).name : "");

function readingText(element, reading) {
  reading.fullTexts ??= new Map();
  let text = reading.fullTexts.get(element);
  if (text === undefined) reading.fullTexts.set(element, (text = readText(element, reading)));
  return text;
}

/** Returns whether the element is called as a query says; `byWords`: signs beside its words may be left out. */
function isNamedSo(element, query, reading, byWords = false) {
  const name = normalise(nameForQuery(element, query, reading)), wanted = normalise(query.name);
  return name === wanted || (byWords && name.replace(OUTER_SIGNS, "") === wanted);
}

const isInside = (element, scope) => scope !== element && flatContains(scope, element);

/** The element at the query's position among those that it describes otherwise; all of them without a position. */
function atPosition(found, { nth }) {
  if (!nth) return found;
  const ordered = inPageOrder(found);
  return ordered.slice(nth > 0 ? nth - 1 : nth).slice(0, nth < -ordered.length ? 0 : 1);
}

/** Returns whether the query counts elements. */
const isPlaced = (query) => Boolean(query.nth || (query.within && isPlaced(query.within)));

/** Elements in the order of the page, those of shadow roots at their hosts. */
function inPageOrder(elements) {
  const left = new Set(elements);
  const ordered = [];
  const visit = (element) => {
    if (left.delete(element)) ordered.push(element);
    for (const child of flatChildren(element)) if (left.size && isElement(child)) visit(child);
  };
  visit(rootElementOf(document));
  return [...ordered, ...left];
}

/** Visible elements that a query describes, inside `scope` if given, at its position if it has one. */
function findAll(query, reading, scope = null) {
  if (!Object.values(query).some(given)) return [];
  let found;
  const textOnly = query.text && !query.role && !query.css && !query.test_id && !query.placeholder && !query.label;
  if (textOnly) {
    found = innermostWith(query, reading);
  } else {
    found = startingFrom(query, reading).filter((element) => answersTo(element, query, reading));
    found = found.filter((element) => reading.isShown(element));
  }
  if (found.length && query.within) {
    const scopes = findAll(query.within, reading);
    found = found.filter((element) => scopes.some((each) => isInside(element, each)));
  }
  if (scope) found = found.filter((element) => isInside(element, scope));
  return atPosition(preferred(found, query, reading), query);
}

const domText = (element) => collapse(textContentOf(element));

/** Elements that a query describes, those included that nobody can see. */
function findInDom(query, reading) {
  const isMeant = (element) => (query.css || !NO_TEXT.has(tagOf(element))) && answersTo(element, query, reading, domText);
  let found = startingFrom(query, reading).filter(isMeant);
  if (query.text) found = found.filter((element) => !found.some((other) => isInside(other, element)));
  if (found.length && query.within) {
    const scopes = findInDom(query.within, reading);
    found = found.filter((element) => scopes.some((each) => isInside(element, each)));
  }
  return atPosition(found, query);
}

/**
 * Without elements that are hidden from assistive technology, bear signs beside the name or only stand beside a label, unless there are
 * no others.
 */
function preferred(found, query, reading) {
  if (found.length > 1 && (query.role || given(query.name) || query.name_contains || query.name_in)) {
    const accessible = found.filter(isInAccessibilityTree);
    if (accessible.length) found = accessible;
  }
  if (found.length > 1 && given(query.name)) {
    const exact = found.filter((element) => isNamedSo(element, query, reading));
    if (exact.length) found = exact;
  }
  if (found.length > 1 && query.label) {
    // A text that only stands beside a field labels none that has a name of its own while another is called so.
    const named = found.filter((element) => isCalled(element, query.label, reading));
    if (named.length) found = named;
  }
  return found;
}

/** Only the innermost elements with a text: their ancestors have it too. */
function innermostWith(query, reading) {
  const wanted = wantedOf(query.text);
  const needle = wanted.needle;
  const found = [];
  const visit = (element) => {
    if (NO_TEXT.has(tagOf(element)) || !reading.isShown(element)) return false;
    // textContent has all that can be seen under an element without shadow roots, and costs little.
    if (!reading.hasShadows && !normalise(textContentOf(element)).replace(/ /g, "").includes(needle.replace(/ /g, ""))) {
      return false;
    }
    let inside = false;
    for (const child of flatChildren(element)) if (isElement(child) && visit(child)) inside = true;
    if (inside) return true;
    if (standsAt(normalise(readingText(element, reading)), wanted) < 0) return false;
    if (answersTo(element, { ...query, text: null }, reading)) found.push(element);
    return true;
  };
  reading.hasShadows = reading.roots.length > 1;
  const body = bodyOf(document) ?? rootElementOf(document);
  if (body) visit(body);
  return found;
}

/** Similarity of two texts, 0 to 1: shared words, or shared pairs of letters. */
function alike(left, right) {
  const a = normalise(left), b = normalise(right);
  if (!a || !b) return 0;
  const pairs = (text) => {
    const found = new Set();
    for (let i = 0; i < text.length - 1; i++) found.add(text.slice(i, i + 2));
    return found;
  };
  const first = pairs(a), second = pairs(b);
  let shared = 0;
  for (const pair of first) if (second.has(pair)) shared++;
  const letters = (2 * shared) / (first.size + second.size || 1);
  return Math.max(letters, overlap(a, b));
}

const CONTROLS = "a[href],button,input,select,textarea,summary,[role],[tabindex],[contenteditable],h1,h2,h3";

function nearestTo(query, reading) {
  const role = ROLE_ALIASES[query.role] ?? query.role;
  const words = query.name ?? query.name_contains ?? query.name_in?.[0] ?? query.text ?? query.label ?? query.placeholder ?? query.test_id ?? "";
  const scored = [];
  let looked = 0;
  for (const root of reading.roots) {
    for (const element of queryAll(root, `${CONTROLS},li,td,th,img`)) {
      if (++looked > 1000) break;
      const { role: seen, name } = identityOf(element, reading);
      const score = alike(words, name || labelOf(element, seen, reading)) + (role && role === seen ? 0.3 : 0);
      if (score > 0.2) scored.push({ element, score });
    }
  }
  scored.sort((a, b) => b.score - a.score);
  return scored.filter(({ element }) => reading.isShown(element)).slice(0, STATES_SHOWN)
    .map(({ element }) => briefly(element, reading));
}

function pageLines(reading) {
  if (!reading.lines) {
    const root = bodyOf(document) ?? rootElementOf(document);
    reading.lines = root ? readText(root, reading).split("\n").filter(Boolean) : [];
    reading.pageText = normalise(reading.lines.join(" "));
  }
  return reading.lines;
}

function occurrences(text, haystack) {
  if (!text.needle) return 0;
  let count = 0;
  for (let at = standsAt(haystack, text); at >= 0; at = standsAt(haystack, text, at + text.needle.length)) count++;
  return count;
}

function answerText(probe, reading, wanted) {
  const text = wantedOf(probe.text);
  const needle = text.needle;
  const stands = (line) => standsAt(normalise(line), text) >= 0;
  if (probe.within) {
    const scopes = findAll(probe.within, reading);
    const found = scopes.filter((element) => needle && stands(readingText(element, reading)));
    const nearest = found.length || !wanted.nearest ? [] : nearestLines(needle, scopes.slice(0, 20)
      .flatMap((element) => readingText(element, reading).split("\n")));
    return { count: found.length, elements: found.slice(0, STATES_SHOWN).map((e) => elementState(e, reading)), nearest };
  }
  const lines = pageLines(reading);
  const count = occurrences(text, reading.pageText);
  if (!count) return { count, elements: [], nearest: wanted.nearest ? nearestLines(needle, lines) : [] };
  const holding = lines.filter(stands).slice(0, STATES_SHOWN);
  const elements = holding.map((line) => ({ role: "", name: "", text: cut(line, 200), value: "", visible: true, focused: false }));
  return { count, elements, nearest: [] };
}

function nearestLines(needle, lines) {
  const scored = lines.slice(0, 2000).map((line) => ({ line, score: alike(needle, cut(line, 400)) }));
  scored.sort((a, b) => b.score - a.score);
  return scored.filter(({ score }) => score > 0.2).slice(0, STATES_SHOWN).map(({ line }) => cut(line, 120));
}

/** Matches that are looked at to see whether they are in view. */
const LOOKED_AT = 50;

/** Returns whether something of the element lies in the window, and is not covered there. */
const isInView = (element) => Boolean(clickablePoint(element, element).point);

function answerElements({ query, view, inDom }, reading, wanted) {
  const found = inDom ? findInDom(query, reading) : findAll(query, reading);
  return {
    count: found.length,
    inView: view ? found.slice(0, LOOKED_AT).filter(isInView).length : 0,
    elements: found.slice(0, STATES_SHOWN).map((element) => elementState(element, reading)),
    nearest: found.length || !wanted.nearest ? [] : nearestTo(query, reading),
  };
}

/** One ProbeResult per probe; nearest elements of a probe without a match are costly, and optional. */
function answer(probes, reading, wanted = { nearest: true }) {
  const tell = (probe) => (probe.query ? answerElements : answerText)(probe, reading, wanted);
  return (probes ?? []).map(tell);
}

// -------------------------------------------------------------------------------------------- extracting

/**
 * Values of the named fields. A field whose element is missing, or not the only one, is null: taking the first of
 * several would be a guess. `count`, `texts` and `table` report all matches.
 */
function extractFields(scope, fields, reading) {
  const values = {};
  for (const [name, field] of Object.entries(fields ?? {})) values[name] = extractField(scope, field, reading);
  return values;
}

function extractField(scope, field, reading) {
  const take = field.take ?? "text";
  const found = field.find ? findAll(field.find, reading, scope) : [scope ?? bodyOf(document) ?? rootElementOf(document)];
  if (take === "count") return found.length;
  if (take === "texts") return found.map((element) => collapse(readText(element, reading)));
  if (found.length !== 1) return null;
  const [element] = found;
  switch (take) {
    case "value":
      return valueOf(element, reading);
    case "attribute":
      return isSecret(element) && field.attribute === "value" ? null : getAttribute.call(element, field.attribute);
    case "table":
      return tableRows(element, reading);
  }
  return readText(element, reading);
}

/**
 * Rows of the table that an element is, holds or stands in, as mappings from column header to cell text. A head may have a
 * plain cell over the boxes that choose rows, and a foot may say it once more.
 */
function tableRows(element, reading) {
  const selector = "table,[role=table],[role=grid],[role=treegrid]";
  const table = matches(element, selector) ? element : queryAll(element, selector)[0] ?? closest(element, selector);
  if (!table) return null;
  const rows = Array.from(queryAll(table, "tr,[role=row]")).filter((row) =>
    closest(row, selector) === table && reading.isShown(row));
  const cells = (row) => Array.from(childrenOf(row)).filter((cell) =>
    /^(?:td|th)$/.test(tagOf(cell)) || /^(?:cell|gridcell|columnheader|rowheader)$/.test(attr(cell, "role")));
  const read = (cell) => collapse(readText(cell, reading));
  const isIn = (row, part) => matches(row, `${part} > tr`);
  const isHeader = (row) => {
    const own = cells(row);
    return own.length > 0 && (isIn(row, "thead") ||
      own.every((cell) => /^(?:columnheader|rowheader)$/.test(roleOf(cell, reading))));
  };
  const header = rows.find(isHeader);
  const said = (row) => cells(row).map(read).join("\n");
  const isRepeated = (row) => header && isIn(row, "tfoot") && said(row) === said(header);
  const names = [];
  for (const cell of header ? cells(header) : []) {
    const name = read(cell) || `column ${names.length + 1}`;
    // Two columns of one name stay apart.
    names.push(names.includes(name) ? `${name} ${names.length + 1}` : name);
    for (let span = Number(attr(cell, "colspan")) || 1; span > 1 && span < 100; span--) names.push(`column ${names.length + 1}`);
  }
  return rows.filter((row) => row !== header && !isHeader(row) && !isRepeated(row)).map((row) =>
    Object.fromEntries(cells(row).map((cell, index) => [names[index] ?? `column ${index + 1}`, read(cell)])));
}
