/* Finding the recorded element: the candidates are the union of all tiers; the first match has no preference. */

const CANDIDATE_LIMIT = 20;
const ALIKE_LIMIT = 8;

/** Elements at an absolute path; `tolerant` ignores an index where the tag is the only one of its kind. */
function followPath(steps, start, tolerant) {
  let at = [start];
  for (const step of steps) {
    const next = [];
    for (const node of at) {
      if (step === "#shadow") {
        const root = isElement(node) ? shadowOf(node) : null;
        if (root) next.push(root);
        continue;
      }
      const parsed = parseStep(step);
      if (!parsed) return null;
      const found = [];
      for (let child = firstChildOf(node); child; child = nextSiblingOf(child)) {
        if (isElement(child) && (parsed.tag === "*" || tagOf(child) === parsed.tag)) found.push(child);
      }
      if (parsed.index === 0 || (tolerant && found.length === 1)) next.push(...found);
      else if (found[parsed.index - 1]) next.push(found[parsed.index - 1]);
    }
    at = next;
    if (!at.length || at.length > 200) return [];
  }
  return at.filter(isElement);
}

function parseStep(step) {
  const match = /^(?:([\w-]+|\*)|\*\[(?:local-)?name\(\)\s*=\s*["']([\w-]+)["']\])(?:\[(\d+)\])?$/.exec(step);
  return match ? { tag: (match[1] ?? match[2]).toLowerCase(), index: match[3] ? Number(match[3]) : 0 } : null;
}

const stepsOf = (xpath) => xpath.split("/").filter(Boolean);

function byXpath(xpath) {
  if (!xpath) return [];
  const absolute = xpath.startsWith("/") && !xpath.startsWith("//");
  const found = absolute ? followPath(stepsOf(xpath), document, false) : null;
  if (found) return found;
  try {
    // A path from elsewhere, with predicates that are not ours.
    const result = Document.prototype.evaluate.call(document, xpath, document, null, 7, null);
    const nodes = [];
    for (let i = 0; i < Math.min(result.snapshotLength, 200); i++) nodes.push(result.snapshotItem(i));
    return nodes.filter(isElement);
  } catch {
    return [];
  }
}

/** Paths that lead to the same element after a wrapper came or went, or a sibling was put in above. */
function byXpathVariants(xpath, reading) {
  if (!xpath || !xpath.startsWith("/") || xpath.startsWith("//")) return [];
  const steps = stepsOf(xpath);
  const found = new Set(followPath(steps, document, true) ?? []);
  const cutAt = steps.lastIndexOf("#shadow") + 1;
  const inRoot = steps.slice(cutAt);
  for (const length of [4, 3, 2]) {
    const suffix = inRoot.slice(-length);
    if (suffix.length < length || !suffix.every(parseStep)) continue;
    const head = parseStep(suffix[0]);
    const matchesSuffix = [];
    for (const root of reading.roots) {
      for (const element of queryAll(root, CSS.escape(head.tag))) {
        if (!stepMatches(element, head, reading)) continue;
        matchesSuffix.push(...(followPath(suffix.slice(1), element, true) ?? []));
        if (matchesSuffix.length > 5) break;
      }
    }
    // Two steps are weak evidence: they count only if they lead to one place.
    if (matchesSuffix.length <= (length === 2 ? 1 : 5)) for (const element of matchesSuffix) found.add(element);
    if (matchesSuffix.length) break;
  }
  return [...found];
}

function stepMatches(element, step, reading) {
  if (!step.index) return true;
  const index = /\[(\d+)\]$/.exec(stepOf(element, reading));
  return !index || Number(index[1]) === step.index;
}

function byAttributes(target, reading) {
  const { attributes = {}, tag } = target;
  const found = new Set();
  const collect = (selector, keep = () => true) => {
    for (const root of reading.roots) for (const element of queryAll(root, selector)) if (keep(element)) found.add(element);
  };
  for (const name of TEST_IDS) if (attributes[name]) collect(`[${name}=${quoted(attributes[name])}]`);
  if (attributes.id && !looksGenerated(attributes.id)) collect(`[id=${quoted(attributes.id)}]`);
  const own = tag && /^[\w-]+$/.test(tag) ? tag : "*";
  if (attributes.name) {
    const value = attributes.value;
    collect(`${own}[name=${quoted(attributes.name)}]`, (element) => !value || attr(element, "value") === value);
  }
  for (const name of ["aria-label", "placeholder", "alt"]) {
    if (attributes[name]) collect(`[${name}]`, (element) => collapse(saidOf(element, name)) === attributes[name]);
  }
  if (attributes.href) collect("a[href],area[href]", (element) => hrefPath(element, reading) === attributes.href);
  for (const element of byCss(target.css, [document]).slice(0, 100)) found.add(element);
  return [...found];
}

/** Elements in these roots that match a selector whose ` >>> ` hops into open shadow roots. */
function byCss(css, roots) {
  if (!css) return [];
  let scopes = roots;
  const parts = css.split(" >>> ");
  for (let i = 0; i < parts.length; i++) {
    const found = scopes.flatMap((scope) => Array.from(queryAll(scope, parts[i])));
    if (i === parts.length - 1) return found;
    scopes = found.map(shadowOf).filter(Boolean);
    if (!scopes.length || scopes.length > 100) return [];
  }
  return [];
}

/** Selectors for all tags that can have a role by themselves; any other element needs a role attribute. */
const ROLE_SELECTORS = {
  button: "button,input,summary", link: "a,area", textbox: "input,textarea,body,[contenteditable]", checkbox: "input",
  radio: "input", switch: "input", combobox: "input,select", listbox: "select,datalist", searchbox: "input",
  spinbutton: "input", slider: "input", option: "option", heading: "h1,h2,h3,h4,h5,h6", img: "img,svg", row: "tr",
  cell: "td,th", gridcell: "td,th", columnheader: "th", rowheader: "th", listitem: "li", list: "ul,ol,menu",
  table: "table", dialog: "dialog", alertdialog: "", alert: "", main: "main",
};

/** Elements of a role, in document order per root. */
function byRole(role, tag, reading) {
  const found = [];
  const selector = role
    ? hasOwnProperty.call(ROLE_SELECTORS, role) ? [ROLE_SELECTORS[role], "[role]"].filter(Boolean).join() : "*"
    : /^[\w-]+$/.test(tag) ? tag : "*";
  for (const root of reading.roots) {
    for (const element of queryAll(root, selector)) if (roleOf(element, reading) === role) found.push(element);
  }
  return found;
}

/**
 * The rendered elements of a role and a name, or of the role and no name; and the different names of others of the role
 * that have all words of the name, or no other words, in the order of the page.
 */
function calledLike({ role, name, tag }, reading) {
  const wanted = normalise(name ?? ""), words = wordsOf(wanted);
  const named = [], alike = new Set();
  for (const element of byRole(role ?? "", tag ?? "", reading)) {
    if (!reading.isShown(element)) continue;
    const { name: called } = identityOf(element, reading);
    const other = normalise(called);
    if (other === wanted) named.push(element);
    else if (alike.size < ALIKE_LIMIT && haveWords(words, wordsOf(called))) alike.add(called);
  }
  return { named, alike: [...alike] };
}

/** Returns whether all words of one are among those of the other. */
function haveWords(left, right) {
  const [fewer, more] = left.size < right.size ? [left, right] : [right, left];
  return fewer.size > 0 && [...fewer].every((word) => more.has(word));
}

/** Returns whether a nameless element has the recorded label; true without one. */
const isLabelled = ({ role, name, label }, element, reading) =>
  Boolean(name) || !label || normalise(labelOf(element, role ?? "", reading)) === normalise(label);

/**
 * All rendered elements that some tier leads to.
 *
 * @returns {{candidates: {element: Element, tier: string}[], total: number, namesakes: number, alike: string[]}}
 *   at most twenty; those whose role and name agree are kept first when there are more, and of these those in the
 *   recorded row. `namesakes` is how many are called as it was, `alike` what others are called nearly so
 */
function locate(target, reading) {
  const found = new Map();
  const add = (tier, elements) => {
    for (const element of elements) if (!found.has(element) && reading.isShown(element)) found.set(element, tier);
  };
  add("xpath", byXpath(target.xpath));
  add("xpath_variant", byXpathVariants(target.xpath, reading));
  add("attributes", byAttributes(target, reading));
  const { named, alike } = target.role || target.tag ? calledLike(target, reading) : { named: [], alike: [] };
  // The hash has role and name in it, so only these can have it.
  if (normalise(target.name ?? "")) add("role_name", named);
  else if (target.elementHash) {
    add("hash", named.filter((element) => !found.has(element) && elementHash(element, reading) === target.elementHash));
  }
  if (target.focused) add("focus", [deepActive()].filter((active) => active && roleOf(active, reading) === target.role));
  let candidates = Array.from(found, ([element, tier]) => ({ element, tier }));
  const total = candidates.length;
  if (total > CANDIDATE_LIMIT) {
    const rank = ({ element }) => 2 * agreesWith(target, element, reading) + isInRow(target, element, reading);
    const ranks = new Map(candidates.map((candidate) => [candidate, rank(candidate)]));
    candidates = candidates.sort((a, b) => ranks.get(b) - ranks.get(a)).slice(0, CANDIDATE_LIMIT);
  }
  return { candidates, total, namesakes: countCalled(target, named, reading), alike };
}

/** Number of these elements of one role and name with the same name; without a name, with the same label. */
const countCalled = (called, named, reading) => named.filter((element) => isLabelled(called, element, reading)).length;

/** How many elements of the page have a described element's name, itself included, and the names that are alike. */
function othersOf(described, reading) {
  const { named, alike } = calledLike(described, reading);
  return { namesakes: countCalled(described, named, reading), alike };
}

/** Returns whether role and name, or else the label, confirm a candidate (Python decides). */
function agreesWith(target, element, reading) {
  const { role, name } = identityOf(element, reading);
  const sameName = normalise(name) === normalise(target.name ?? "");
  return role === (target.role ?? "") && sameName && isLabelled(target, element, reading);
}

/** Returns whether a candidate's row has all cells of the recorded one. */
function isInRow(target, element, reading) {
  const cells = rowOf(element, reading).map(normalise);
  return (target.row ?? []).every((cell) => cells.includes(normalise(cell)));
}

/**
 * The only candidate that is certainly the recorded element, or null: role, normalised name, tag and hash equal, no
 * other candidate with this role and name, now or when it was recorded, and standing where it stood if the recording
 * says where: in the same row and the same container. An equal "Edit" in another row is another "Edit".
 */
function certainOf(target, candidates, total, reading) {
  if (!target.elementHash || !isTold(target) || total > CANDIDATE_LIMIT || target.namesakes > 1) return null;
  const agreeing = candidates.filter(({ element }) => agreesWith(target, element, reading));
  if (agreeing.length !== 1) return null;
  const [candidate] = agreeing;
  const { element } = candidate;
  if (tagOf(element) !== target.tag || elementHash(element, reading) !== target.elementHash) return null;
  if (!sameTexts(target.row ?? [], rowOf(element, reading))) return null;
  if (normalise(target.container ?? "") !== normalise(containerOf(element, reading))) return null;
  return candidate;
}

/**
 * Returns whether the hash of an element tells more than what kind it is. Else Python looks at the texts around it,
 * before it is given anything.
 */
function isTold({ name, attributes = {} }) {
  const { id } = attributes;
  const told = HASHED.some((key) => key !== "type" && attributes[key]) || (id && !looksGenerated(id));
  return Boolean(normalise(name ?? "") || told);
}

const sameTexts = (left, right) =>
  left.length === right.length && left.every((text, index) => normalise(text) === normalise(right[index]));

/**
 * Result of one look for a target: candidates of all tiers, their total, the number of elements with its role and name,
 * the names that are alike, and the certain one or null.
 */
function lookUp(target, reading) {
  const found = locate(target, reading);
  return { ...found, certain: certainOf(target, found.candidates, found.total, reading) };
}

/**
 * Looks for many targets at once, for measuring the tiers: each element is described once.
 *
 * @returns {{looks: {candidates: {element: number, tier: string}[], total: number, namesakes: number,
 *   alike: string[], certain: number}[], targets: Object[]}} candidates by their place in `targets`; `certain` by its
 *   place in `candidates`, or -1
 */
function lookUpAll(targets) {
  const reading = new Reading();
  const described = new Map();
  const place = (element) => {
    if (!described.has(element)) described.set(element, described.size);
    return described.get(element);
  };
  const looks = targets.map((target) => {
    const { candidates, certain, ...counted } = lookUp(target, reading);
    return {
      candidates: candidates.map(({ element, tier }) => ({ element: place(element), tier })),
      ...counted,
      certain: candidates.indexOf(certain),
    };
  });
  return { looks, targets: Array.from(described.keys(), (element) => describe(element, reading)) };
}
