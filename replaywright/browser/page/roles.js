/* Roles after HTML-AAM and WAI-ARIA 1.2. The empty role is ARIA's generic role. */

const ROLES = new Set(("alert alertdialog application article banner blockquote button caption cell checkbox code " +
  "columnheader combobox comment complementary contentinfo definition deletion dialog directory document emphasis feed " +
  "figure form generic grid gridcell group heading img image insertion link list listbox listitem log main mark " +
  "marquee math meter menu menubar menuitem menuitemcheckbox menuitemradio navigation none note option paragraph " +
  "presentation progressbar radio radiogroup region row rowgroup rowheader scrollbar search searchbox separator " +
  "slider spinbutton status strong subscript suggestion superscript switch tab table tablist tabpanel term textbox " +
  "time timer toolbar tooltip tree treegrid treeitem").split(" "));

const TAG_ROLES = {
  address: "group", article: "article", blockquote: "blockquote", button: "button", caption: "caption", code: "code", datalist: "listbox",
  dd: "definition", del: "deletion", details: "group", dfn: "term", dialog: "dialog", dt: "term", em: "emphasis",
  fieldset: "group", figure: "figure", h1: "heading", h2: "heading", h3: "heading", h4: "heading", h5: "heading",
  h6: "heading", hgroup: "group", hr: "separator", html: "document", ins: "insertion", li: "listitem", main: "main", mark: "mark",
  math: "math", menu: "list", meter: "meter", nav: "navigation", ol: "list", optgroup: "group", option: "option",
  output: "status", p: "paragraph", progress: "progressbar", s: "deletion", search: "search", strong: "strong",
  sub: "subscript", summary: "button", sup: "superscript", table: "table", tbody: "rowgroup", tfoot: "rowgroup",
  textarea: "textbox", thead: "rowgroup", time: "time", tr: "row", ul: "list",
};

const INPUT_ROLES = {
  button: "button", checkbox: "checkbox", color: "textbox", file: "button", hidden: "", image: "button",
  number: "spinbutton", radio: "radio", range: "slider", reset: "button", submit: "button",
};

const SECTIONING = "article,aside,main,nav,section,[role=article],[role=complementary],[role=main]," +
  "[role=navigation],[role=region]";

const GLOBAL_ARIA = ["aria-atomic", "aria-busy", "aria-controls", "aria-current", "aria-describedby", "aria-details",
  "aria-dropeffect", "aria-flowto", "aria-grabbed", "aria-keyshortcuts", "aria-label", "aria-labelledby", "aria-live",
  "aria-owns", "aria-relevant", "aria-roledescription"];

/** Roles whose descendants have no role of their own. */
const CHILDREN_PRESENTATIONAL = new Set(["button", "checkbox", "img", "math", "menuitemcheckbox", "menuitemradio",
  "meter", "option", "progressbar", "radio", "scrollbar", "separator", "slider", "switch", "tab"]);

/** Elements that inherit role "none" from an owner: a presentational list has no list items. */
const OWNED_BY = {
  li: new Set(["ul", "ol", "menu"]),
  td: new Set(["table"]), th: new Set(["table"]), tr: new Set(["table"]),
  tbody: new Set(["table"]), thead: new Set(["table"]), tfoot: new Set(["table"]),
};

function isFocusable(element) {
  if (has(element, "tabindex")) return true;
  const tag = tagOf(element);
  if (tag === "a" || tag === "area") return has(element, "href");
  if (tag === "input") return inputTypeOf(element) !== "hidden" && !isNativelyDisabled(element);
  if (tag === "button" || tag === "select" || tag === "textarea") return !isNativelyDisabled(element);
  return tag === "summary" || tag === "iframe" || isEditingHost(element);
}

const isNativelyDisabled = (element) => matches(element, ":disabled");

/** The role of an element; kept for the length of a reading. */
function roleOf(element, reading) {
  const facts = reading.of(element);
  return (facts.role ??= computeRole(element, reading));
}

function explicitRole(element, reading) {
  const value = reading.marks(element) & ROLE ? getAttribute.call(element, "role") : null;
  if (!value) return null;
  for (const token of value.toLowerCase().split(/\s+/)) if (ROLES.has(token)) return token;
  return null;
}

function computeRole(element, reading) {
  const explicit = explicitRole(element, reading);
  if (explicit === "none" || explicit === "presentation") {
    // Conflict of presentational roles: focusable elements and those with global ARIA keep their role.
    const conflict = isFocusable(element) || GLOBAL_ARIA.some((name) => has(element, name));
    return conflict ? implicitRole(element, reading) : "";
  }
  if (explicit === "generic") return "";
  if (explicit === "image") return "img";
  if (explicit === "directory") return "list";
  if (explicit === "region" && !hasAuthorName(element)) return implicitRole(element, reading);
  return explicit ?? implicitRole(element, reading);
}

const hasAuthorName = (element) =>
  /\S/.test(attr(element, "aria-label")) || /\S/.test(attr(element, "title")) || isLabelledBySomething(element);

function isLabelledBySomething(element) {
  const ids = attr(element, "aria-labelledby").trim();
  if (!ids) return false;
  const root = getRoot(element);
  return ids.split(/\s+/).some((id) => byId(root, id));
}

/** The nearest ancestor in the DOM with one of these tags, or null. */
function ancestorWithTag(element, tags, reading) {
  for (let at = reading.parent(element); at; at = reading.parent(at)) if (tags.has(tagOf(at))) return at;
  return null;
}

function isPresentational(element, reading) {
  const explicit = explicitRole(element, reading);
  return (explicit === "none" || explicit === "presentation") && roleOf(element, reading) === "";
}

function implicitRole(element, reading) {
  const tag = tagOf(element);
  const owners = OWNED_BY[tag];
  if (owners) {
    const owner = ancestorWithTag(element, owners, reading);
    if (owner && isPresentational(owner, reading)) return "";
  }
  switch (tag) {
    case "a":
    case "area":
      return has(element, "href") ? "link" : "";
    case "aside":
      return hasAuthorName(element) || !isScoped(element, "article,aside,nav,section") ? "complementary" : "";
    case "form":
      return "form";
    case "section":
      return hasAuthorName(element) ? "region" : "";
    case "header":
      return isScoped(element, SECTIONING) ? "" : "banner";
    case "footer":
      return isScoped(element, SECTIONING) ? "" : "contentinfo";
    case "img": {
      const silent = getAttribute.call(element, "alt") === "" && !hasAuthorName(element) && !isFocusable(element);
      return silent ? "" : "img";
    }
    case "svg":
      return "img";
    case "input":
      return inputRole(element);
    case "select":
      return has(element, "multiple") || Number(attr(element, "size")) > 1 ? "listbox" : "combobox";
    case "li": {
      const parent = flatParent(element);
      return parent && /^(ul|ol|menu)$/.test(tagOf(parent)) ? "listitem" : "";
    }
    case "td":
    case "th":
      return cellRole(element, tag, reading);
    case "summary": {
      const parent = flatParent(element);
      return parent && tagOf(parent) === "details" ? "button" : "";
    }
  }
  const role = TAG_ROLES[tag];
  if (role !== undefined && hasOwnProperty.call(TAG_ROLES, tag)) return role;
  return reading.isEditingHost(element) ? "textbox" : "";
}

function isScoped(element, selector) {
  const parent = parentNodeOf(element);
  return Boolean(parent && isElement(parent) && closest(parent, selector));
}

function inputRole(element) {
  const type = inputTypeOf(element);
  if (hasOwnProperty.call(INPUT_ROLES, type)) {
    return type === "checkbox" && has(element, "switch") ? "switch" : INPUT_ROLES[type];
  }
  const listed = /^(email|search|tel|text|url)$/.test(type) && has(element, "list");
  const list = listed ? byId(getRoot(element), attr(element, "list")) : null;
  if (list && tagOf(list) === "datalist") return "combobox";
  return type === "search" ? "searchbox" : "textbox";
}

function cellRole(element, tag, reading) {
  const table = ancestorWithTag(element, OWNED_BY.td, reading);
  const tableRole = table ? explicitRole(table, reading) : null;
  if (tag === "td") return tableRole === "grid" || tableRole === "treegrid" ? "gridcell" : "cell";
  const scope = attr(element, "scope").toLowerCase();
  if (scope === "col" || scope === "colgroup") return "columnheader";
  if (scope === "row" || scope === "rowgroup") return "rowheader";
  const row = parentNodeOf(element);
  if (!row || !isElement(row)) return "columnheader";
  // Without a scope: a header among data cells heads its row, a header among headers its column.
  for (let cell = firstElementOf(row); cell; cell = nextElementOf(cell)) if (tagOf(cell) === "td") return "rowheader";
  return "columnheader";
}
