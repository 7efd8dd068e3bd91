/*
 * The mutation test-bed: what redesigns do to pages, done in the page's own world.
 *
 * The recorded elements are held by reference in this closure; where an operator puts another element in the place
 * of one, the reference goes over to it. The page agent lives in a world of its own and sees none of this.
 */
(() => {
  "use strict";
  if (globalThis.__mutationBed) return;

  const CONTROLS = "a[href],button,input:not([type=hidden]),select,textarea,summary,[role=button],[role=link]," +
    "[role=tab],[role=menuitem],[role=checkbox],[role=radio],[role=switch],[role=textbox],[role=combobox],[tabindex]";
  const TEST_IDS = ["data-testid", "data-test", "data-test-id", "data-qa", "data-cy"];
  const UNREAD = new Set(["SCRIPT", "STYLE", "NOSCRIPT", "TEMPLATE", "TEXTAREA", "TITLE"]);
  const held = new Map();
  const lost = new Set();
  let random = Math.random;

  /** Mulberry32: the same seed gives the same mutations. */
  function seeded(seed) {
    let state = seed >>> 0;
    return () => {
      state = (state + 0x6d2b79f5) >>> 0;
      let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
      mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
      return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
    };
  }
  const chance = (share) => random() < share;
  const pick = (list) => list[Math.floor(random() * list.length)];
  const word = () => Array.from({ length: 7 }, () => pick("abcdefghijklmnopqrstuvwxyz")).join("");
  function shuffled(list) {
    const copy = [...list];
    for (let i = copy.length - 1; i > 0; i--) {
      const j = Math.floor(random() * (i + 1));
      [copy[i], copy[j]] = [copy[j], copy[i]];
    }
    return copy;
  }

  // ------------------------------------------------------------------------------------------- the page

  /** The document, its open shadow roots and the documents of its frames of the same origin. */
  function roots() {
    const found = [document];
    for (let i = 0; i < found.length; i++) {
      for (const element of found[i].querySelectorAll("*")) {
        if (element.shadowRoot) found.push(element.shadowRoot);
        if (element.tagName === "IFRAME" || element.tagName === "FRAME") {
          try {
            if (element.contentDocument?.body) found.push(element.contentDocument);
          } catch { /* another origin */ }
        }
      }
    }
    return found;
  }
  const all = (selector) => roots().flatMap((root) => Array.from(root.querySelectorAll(selector)));
  const shown = (element) => element.checkVisibility({ visibilityProperty: true }) && element.getClientRects().length > 0;
  const controls = () => {
    const known = new Set(held.values());
    return all("*").filter((element) => (known.has(element) || element.matches(CONTROLS)) && shown(element));
  };
  const rows = () => all("tr,li,article,[role=row],[role=listitem]").filter((row) => {
    const like = Array.from(row.parentElement?.children ?? []).filter((other) => other.tagName === row.tagName);
    return like.length > 1 && shown(row) && !row.querySelector("th") && row.parentElement.tagName !== "THEAD";
  });
  const inRow = (element) => Boolean(element.closest("tbody tr,li,article,[role=row],[role=listitem]"));

  /** Puts `next` in the place of `old`; what was held there is held on in it. */
  function replace(old, next) {
    for (const { name, value } of Array.from(old.attributes)) {
      if (!next.hasAttribute(name) && !/^(?:type|value|href|role)$/.test(name)) next.setAttribute(name, value);
    }
    old.replaceWith(next);
    for (const [number, element] of held) if (element === old) held.set(number, next);
  }

  /** Text nodes that a reader sees, outside of scripts and fields. */
  function texts() {
    const found = [];
    for (const root of roots()) {
      const walker = (root.ownerDocument ?? root).createTreeWalker(root.body ?? root, NodeFilter.SHOW_TEXT);
      while (walker.nextNode()) {
        const parent = walker.currentNode.parentElement;
        if (parent && !parent.closest("script,style,noscript,template,textarea,title") && /\p{L}/u.test(walker.currentNode.data)) {
          found.push(walker.currentNode);
        }
      }
    }
    return found;
  }
  /** Whether a text is the site's own wording, not a user's data: controls, labels, headings, outside of rows. */
  const isWording = (parent) => !inRow(parent) &&
    Boolean(parent.closest(`${CONTROLS},label,legend,th,h1,h2,h3,h4,h5,h6,caption`));

  /** Gives every piece of wording to `change(text, isWording)`; what comes back is put in. Returns how many changed. */
  function reworded(change) {
    let count = 0;
    for (const node of texts()) {
      const text = node.data.trim();
      const next = change(text, isWording(node.parentElement));
      if (next !== null && next !== text) node.data = node.data.replace(text, () => next), count++;
    }
    for (const element of all("[aria-label],[placeholder],[title],input[type=submit],input[type=button],input[type=reset]")) {
      for (const name of ["aria-label", "placeholder", "title", "value"]) {
        if (name === "value" && !/^(?:submit|button|reset)$/.test(element.type ?? "")) continue;
        const text = element.getAttribute(name)?.trim();
        const next = text ? change(text, !inRow(element)) : null;
        if (next !== null && next !== text) element.setAttribute(name, next), count++;
      }
    }
    return count;
  }

  // -------------------------------------------------------------------------------------------- wording

  const plain = (text) => text.toLowerCase().replace(/[.:…*!]+$/, "").replace(/\s+/g, " ").trim();
  const GERMAN = {
    "send": "Senden", "send message": "Nachricht senden", "save": "Speichern", "save as draft": "Als Entwurf speichern",
    "save changes": "Änderungen speichern", "discard": "Verwerfen", "cancel": "Abbrechen", "close": "Schließen",
    "delete": "Löschen", "remove": "Entfernen", "edit": "Bearbeiten", "add": "Hinzufügen", "new": "Neu", "ok": "OK",
    "search": "Suchen", "search mail": "Nachrichten durchsuchen", "log in": "Anmelden", "login": "Anmelden",
    "sign in": "Anmelden", "log out": "Abmelden", "sign out": "Abmelden", "logout": "Abmelden", "inbox": "Posteingang",
    "sent": "Gesendet", "drafts": "Entwürfe", "settings": "Einstellungen", "preferences": "Einstellungen",
    "compose": "Verfassen", "reply": "Antworten", "forward": "Weiterleiten", "back": "Zurück", "next": "Weiter",
    "previous": "Zurück", "submit": "Absenden", "password": "Passwort", "username": "Benutzername",
    "user name": "Benutzername", "name": "Name", "email": "E-Mail", "subject": "Betreff", "message": "Nachricht",
    "to": "An", "cc": "Kopie", "priority": "Priorität", "yes": "Ja", "no": "Nein", "help": "Hilfe", "home": "Startseite",
    "users": "Benutzer", "groups": "Gruppen", "first name": "Vorname", "last name": "Nachname", "address": "Adresse",
    "buy": "Kaufen", "show": "Anzeigen", "open": "Öffnen", "date": "Datum", "from": "Von", "select all": "Alle auswählen",
    "older": "Älter", "newer": "Neuer", "display name": "Anzeigename", "signature": "Signatur", "upload": "Hochladen",
    "download": "Herunterladen", "print": "Drucken", "apply": "Anwenden", "reset": "Zurücksetzen", "filter": "Filtern",
    "history": "Verlauf", "email address": "E-Mail-Adresse", "change password": "Passwort ändern", "confirm": "Bestätigen",
  };
  const CHINESE = {
    "send": "发送", "send message": "发送邮件", "save": "保存", "save as draft": "存为草稿", "save changes": "保存更改",
    "discard": "放弃", "cancel": "取消", "close": "关闭", "delete": "删除", "remove": "移除", "edit": "编辑", "add": "添加",
    "new": "新建", "ok": "确定", "search": "搜索", "search mail": "搜索邮件", "log in": "登录", "login": "登录",
    "sign in": "登录", "log out": "退出登录", "sign out": "退出登录", "logout": "退出登录", "inbox": "收件箱", "sent": "已发送",
    "drafts": "草稿箱", "settings": "设置", "preferences": "偏好设置", "compose": "写邮件", "reply": "回复", "forward": "转发",
    "back": "返回", "next": "下一步", "previous": "上一步", "submit": "提交", "password": "密码", "username": "用户名",
    "user name": "用户名", "name": "姓名", "email": "电子邮件", "subject": "主题", "message": "正文", "to": "收件人",
    "cc": "抄送", "priority": "优先级", "yes": "是", "no": "否", "help": "帮助", "home": "首页", "users": "用户",
    "groups": "组", "first name": "名字", "last name": "姓氏", "address": "地址", "buy": "购买", "show": "显示",
    "open": "打开", "date": "日期", "from": "发件人", "select all": "全选", "older": "更早", "newer": "更新",
    "display name": "显示名称", "signature": "签名", "upload": "上传", "download": "下载", "print": "打印", "apply": "应用",
    "reset": "重置", "filter": "筛选", "history": "历史", "email address": "电子邮件地址", "change password": "修改密码",
    "confirm": "确认",
  };
  const SYNONYMS = {
    "send": ["Send message", "Send now"], "send message": ["Send"], "save": ["Save changes", "Store"],
    "discard": ["Discard draft"], "cancel": ["Abort", "Never mind"], "close": ["Dismiss"], "delete": ["Remove", "Trash"],
    "remove": ["Delete"], "edit": ["Modify", "Edit details"], "add": ["Create", "Add new"], "search": ["Find"],
    "log in": ["Sign in", "Login"], "login": ["Log in", "Sign in"], "sign in": ["Log in"], "log out": ["Sign out", "Logout"],
    "sign out": ["Log out"], "settings": ["Preferences", "Options"], "preferences": ["Settings"],
    "compose": ["New message", "Write"], "reply": ["Answer", "Respond"], "forward": ["Pass on"], "back": ["Go back"],
    "next": ["Continue"], "submit": ["Send", "Submit form"], "password": ["Passphrase", "Your password"],
    "username": ["User name", "Account name"], "user name": ["Username", "Login name"], "name": ["Full name"],
    "email": ["Email address", "E-mail"], "subject": ["Subject line", "Topic"], "message": ["Message text", "Body"],
    "to": ["Recipient"], "buy": ["Purchase"], "show": ["View"], "help": ["Support"], "first name": ["Given name"],
    "last name": ["Surname", "Family name"], "ok": ["Okay"], "yes": ["Yes, please"], "home": ["Start page"],
    "display name": ["Your name"], "priority": ["Importance"], "older": ["Older messages"], "newer": ["Newer messages"],
  };
  const PSEUDO = Object.fromEntries([..."aàbƀcçdðeéfƒgĝhĥiîjĵkķlļmɱnñoöpþqǫrŕsštţuûvṽwŵxẋyýzž".matchAll(/(.)(.)/gu)]
    .map(([, from, to]) => [from, to]));

  /** Readable, but letter for letter another text: what testers of translations use for languages they do not know. */
  const pseudo = (text) => `[${text.replace(/[a-z]/gi, (letter) => {
    const other = PSEUDO[letter.toLowerCase()];
    return letter === letter.toLowerCase() ? other : other.toUpperCase();
  })} !!]`;

  const UNRELATED = ["Walrus", "Thursday soup", "Copper kettle", "Lantern", "Maple", "Orbit seven", "Granite", "Violin"];

  // ------------------------------------------------------------------------------------------ operators

  const some = (list, share = 0.5) => {
    const chosen = list.filter(() => chance(share));
    return chosen.length || !list.length ? chosen : [pick(list)];
  };
  const isPlaced = (element) => element.parentElement && element.parentElement.tagName !== "HTML";
  /** Where another block may stand without breaking a table, a list or a select. */
  const BLOCKS = new Set(["DIV", "SECTION", "MAIN", "FORM", "ASIDE", "HEADER", "FOOTER", "NAV", "ARTICLE", "FIELDSET", "BODY", "TD"]);
  const takesBlocks = (element) => BLOCKS.has(element.tagName) || /^(?:P|SPAN|LABEL|LI)$/.test(element.tagName);

  const OPERATORS = {
    rename_ids() {
      let count = 0;
      for (const root of roots()) {
        const fresh = new Map();
        for (const element of root.querySelectorAll("[id]")) {
          if (!element.closest("svg,iframe") && !hides(element)) fresh.set(element.id, `${word()}-${word()}`), count++;
        }
        for (const [from, to] of fresh) {
          for (const element of root.querySelectorAll(`[id="${CSS.escape(from)}"]`)) element.id = to;
          for (const name of ["for", "aria-labelledby", "aria-describedby", "aria-controls", "aria-owns"]) {
            for (const element of root.querySelectorAll(`[${name}~="${CSS.escape(from)}"]`)) {
              const words = element.getAttribute(name).split(/\s+/).map((one) => (one === from ? to : one));
              element.setAttribute(name, words.join(" "));
            }
          }
        }
      }
      return count;
    },
    rename_classes() {
      const fresh = new Map();
      const other = (name) => fresh.get(name) ?? fresh.set(name, word()).get(name);
      const changed = all("body [class]").filter((element) => !element.closest("svg") && !hides(element));
      for (const element of changed) {
        element.setAttribute("class", element.getAttribute("class").split(/\s+/).filter(Boolean).map(other).join(" "));
      }
      return changed.length;
    },
    remove_test_ids() {
      const changed = all("body *").filter((element) => Array.from(element.attributes).some(({ name }) => name.startsWith("data-")));
      for (const element of changed) {
        for (const { name } of Array.from(element.attributes)) if (name.startsWith("data-")) element.removeAttribute(name);
      }
      return changed.length;
    },
    wrap() {
      const chosen = some(controls().filter((element) => isPlaced(element) && takesBlocks(element.parentElement)));
      for (const element of chosen) {
        const wrapper = element.ownerDocument.createElement(pick(["div", "span", "section"]));
        element.before(wrapper);
        wrapper.append(element);
      }
      return chosen.length;
    },
    unwrap() {
      const wrappers = some(all("body div,body span,body section").filter((element) => element.childElementCount === 1 &&
        element.parentElement && takesBlocks(element.parentElement) && !element.shadowRoot && !isHeld(element) &&
        !element.hasAttribute("role") && !element.hasAttribute("onclick") && !hides(element)), 0.6);
      for (const element of wrappers) element.replaceWith(...element.childNodes);
      return wrappers.length;
    },
    reorder_siblings() {
      const parents = new Set(controls().map((element) => element.closest("p,div,td,li,form,section,nav,ul,tr,fieldset")?.parentElement));
      let count = 0;
      for (const parent of parents) {
        if (!parent || /^(?:HTML|TABLE|SELECT)$/.test(parent.tagName) || parent.querySelector(":scope > script")) continue;
        const children = Array.from(parent.children).filter((child) => !UNREAD.has(child.tagName));
        if (children.length < 2 || children.length > 12) continue;
        for (const child of shuffled(children)) parent.append(child);
        count++;
      }
      return count;
    },
    translate_german: () => reworded((text, wording) => (wording || GERMAN[plain(text)] ? GERMAN[plain(text)] ?? pseudo(text) : null)),
    translate_chinese: () => reworded((text, wording) => (wording || CHINESE[plain(text)] ? CHINESE[plain(text)] ?? pseudo(text) : null)),
    synonyms() {
      // Nobody could tell what became what if one wording took the place of another that was there.
      const there = new Set(texts().map((node) => plain(node.data)));
      return reworded((text) => {
        const free = (SYNONYMS[plain(text)] ?? []).filter((other) => !there.has(plain(other)));
        return free.length ? pick(free) : null;
      });
    },
    case_and_punctuation: () => reworded((text, wording) => {
      if (!wording) return null;
      const changed = pick([text.toUpperCase(), text.toLowerCase(), text.replace(/[:.…]$/, ""), text]);
      return changed + (/\p{L}$/u.test(changed) ? pick(["", ":", "…", " ›", " *"]) : "");
    }),
    counters: () => reworded((text, wording) => (wording && /\p{L}$/u.test(text) && text.length < 30 && chance(0.5)
      ? `${text} (${1 + Math.floor(random() * 40)})` : null)),
    change_tag() {
      let count = 0;
      for (const element of some(controls(), 0.6)) {
        const doc = element.ownerDocument;
        const tag = element.tagName;
        let next = null;
        if (tag === "BUTTON" && element.textContent.trim()) {
          next = doc.createElement(pick(["a", "div", "span", "input"]));
          if (next.tagName === "INPUT") {
            next.type = "submit";
            next.value = element.textContent.trim().replace(/\s+/g, " ");
          } else {
            next.setAttribute("role", "button");
            next.tabIndex = 0;
            next.append(...element.childNodes);
          }
        } else if (tag === "INPUT" && /^(?:submit|button)$/.test(element.type) && element.value) {
          next = doc.createElement(pick(["button", "div"]));
          if (next.tagName === "DIV") next.setAttribute("role", "button"), (next.tabIndex = 0);
          next.textContent = element.value;
        } else if (tag === "A" && element.textContent.trim()) {
          next = doc.createElement(pick(["button", "span"]));
          if (next.tagName === "SPAN") next.setAttribute("role", "link"), (next.tabIndex = 0);
          next.append(...element.childNodes);
        }
        if (next) replace(element, next), count++;
      }
      return count;
    },
    move_container() {
      const blocks = all("div,section,main,form,aside,header,footer,nav").filter((element) => shown(element) && !element.shadowRoot &&
        !element.closest("table,ul,ol"));
      let count = 0;
      for (const element of some(controls().filter((one) => !inRow(one)), 0.3)) {
        const places = blocks.filter((block) => block.ownerDocument === element.ownerDocument && block !== element.parentElement &&
          block.getRootNode() === element.getRootNode() && !element.contains(block));
        if (!places.length) continue;
        const place = pick(places);
        const whole = wholeOf(element);
        if (!whole.contains(place)) place.append(whole), count++;
      }
      return count;
    },
    duplicate_row() {
      const chosen = some(rows(), 0.4).slice(0, 6);
      for (const row of chosen) {
        const copy = row.cloneNode(true);
        makeAnother(copy);
        if (chance(0.5)) row.before(copy);
        else row.after(copy);
      }
      return chosen.length;
    },
    duplicate_block() {
      const chosen = some(all("form,fieldset,section,article,div").filter((element) => shown(element) && isPlaced(element) &&
        takesBlocks(element.parentElement) && element.querySelector(CONTROLS) && element.querySelectorAll("*").length < 40), 0.15).slice(0, 2);
      for (const element of chosen) {
        const copy = element.cloneNode(true);
        makeAnother(copy);
        const heading = element.ownerDocument.createElement("h3");
        heading.textContent = pick(UNRELATED);
        copy.prepend(heading);
        element.after(copy);
      }
      return chosen.length;
    },
    insert_rows() {
      const chosen = some(rows(), 0.3).slice(0, 6);
      for (const row of chosen) {
        const copy = row.cloneNode(false);
        for (const cell of row.children) {
          const empty = cell.cloneNode(false);
          empty.textContent = /^(?:TD|TH)$/.test(cell.tagName) ? pick(UNRELATED) : "";
          copy.append(empty);
        }
        if (!row.children.length) copy.textContent = pick(UNRELATED);
        copy.removeAttribute("id");
        row.before(copy);
      }
      return chosen.length;
    },
    insert_banner() {
      const targets = [document.body, ...some(all("form,main,section,nav,fieldset").filter(shown), 0.4)];
      for (const target of targets) {
        const banner = target.ownerDocument.createElement("div");
        banner.innerHTML = `<p>${pick(UNRELATED)} is here.</p><a href="/${word()}">Learn more</a> <button type="button">Got it</button>`;
        target.prepend(banner);
      }
      return targets.length;
    },
    swap_controls() {
      const free = shuffled(controls().filter((element) => !inRow(element)));
      let count = 0;
      for (const element of free.slice(0, Math.ceil(free.length / 3))) {
        const other = free.find((one) => one !== element && one.tagName === element.tagName && one.getRootNode() === element.getRootNode() &&
          !one.contains(element) && !element.contains(one) && !one.closest("label") && !element.closest("label"));
        if (!other) continue;
        const [left, right] = [wholeOf(element), wholeOf(other)];
        if (left === right || left.contains(right) || right.contains(left)) continue;
        const place = left.ownerDocument.createComment("");
        left.replaceWith(place);
        right.replaceWith(left);
        place.replaceWith(right);
        count++;
      }
      return count;
    },
    remove_aria_labels() {
      const changed = all("[aria-label],[aria-description]");
      for (const element of changed) element.removeAttribute("aria-label"), element.removeAttribute("aria-description");
      return changed.length;
    },
    change_placeholders() {
      const changed = all("[placeholder]");
      for (const element of changed) element.setAttribute("placeholder", pick(["Type here", "e.g. …", "", "Enter a value"]));
      return changed.length;
    },
    icons_for_text() {
      const chosen = some(controls().filter((element) => /^(?:BUTTON|A)$/.test(element.tagName) && element.textContent.trim() &&
        !element.querySelector("img,input")), 0.6);
      for (const element of chosen) {
        if (!element.hasAttribute("aria-label")) element.setAttribute("aria-label", element.textContent.trim().replace(/\s+/g, " "));
        element.innerHTML = '<svg width="16" height="16" viewBox="0 0 16 16" aria-hidden="true"><path d="M2 2h12v12H2z"/></svg>';
      }
      return chosen.length;
    },
    nest_in_shadow() {
      const chosen = some(all("form,section,fieldset,nav,div").filter((element) => shown(element) && isPlaced(element) &&
        takesBlocks(element.parentElement) && element.querySelector(CONTROLS) && !element.querySelector("iframe,script") &&
        element.querySelectorAll("*").length < 80), 0.2).slice(0, 3);
      let count = 0;
      for (const element of chosen) {
        if (!element.isConnected || element.getRootNode() instanceof ShadowRoot) continue;
        const host = element.ownerDocument.createElement("x-" + word());
        element.before(host);
        host.attachShadow({ mode: "open" }).append(element);
        count++;
      }
      return count;
    },
    change_input_names() {
      const fresh = new Map();
      const changed = all("[name]").filter((element) => element.matches("input,select,textarea,button"));
      for (const element of changed) {
        if (!fresh.has(element.name)) fresh.set(element.name, word());
        element.setAttribute("name", fresh.get(element.getAttribute("name")) ?? word());
      }
      return changed.length;
    },
    reorder_columns() {
      let count = 0;
      for (const table of all("table")) {
        const lines = Array.from(table.rows);
        const width = lines[0]?.cells.length ?? 0;
        if (width < 3 || lines.length < 2 || lines.some((line) => line.cells.length !== width)) continue;
        if (table.querySelector("table,form")) continue;
        const order = shuffled(Array.from({ length: width }, (_, index) => index));
        for (const line of lines) {
          const cells = Array.from(line.cells);
          for (const index of order) line.append(cells[index]);
        }
        count++;
      }
      return count;
    },
    change_hrefs() {
      const changed = all("a[href]").filter((element) => !element.getAttribute("href").startsWith("#"));
      for (const element of changed) element.setAttribute("href", `/${word()}/${word()}`);
      return changed.length;
    },
    shuffle_rows() {
      let count = 0;
      for (const parent of new Set(rows().map((row) => row.parentElement))) {
        const chosen = rows().filter((row) => row.parentElement === parent);
        const places = chosen.map((row) => {
          const place = row.ownerDocument.createComment("");
          row.replaceWith(place);
          return place;
        });
        shuffled(chosen).forEach((row, index) => places[index].replaceWith(row));
        count++;
      }
      return count;
    },
    longer_words() {
      const there = new Set(texts().map((node) => plain(node.data)));
      return reworded((text, wording) => {
        const longer = `${text} ${pick(["now", "details", "here", "item", "message", "page"])}`;
        return wording && /\p{L}$/u.test(text) && text.length < 20 && !there.has(plain(longer)) && chance(0.5) ? longer : null;
      });
    },
    suffixes() {
      const suffix = `-${word().slice(0, 4)}`;
      let count = 0;
      for (const element of all("body [id],body [name],body [class]")) {
        if (element.closest("svg,iframe") || hides(element) || /^(?:radio|checkbox)$/.test(element.type ?? "")) continue;
        const { id } = element;
        if (id) {
          for (const name of ["for", "aria-labelledby", "aria-describedby", "aria-controls"]) {
            for (const other of element.getRootNode().querySelectorAll(`[${name}="${CSS.escape(id)}"]`)) other.setAttribute(name, id + suffix);
          }
          element.id = id + suffix;
        }
        for (const name of ["name", "class"]) if (element.getAttribute(name)) element.setAttribute(name, element.getAttribute(name) + suffix);
        count++;
      }
      return count;
    },
    hidden_copies() {
      const chosen = some(all("nav,header,form,ul,section,div").filter((element) => shown(element) && isPlaced(element) &&
        takesBlocks(element.parentElement) && element.querySelector(CONTROLS) && element.querySelectorAll("*").length < 60), 0.3).slice(0, 3);
      for (const element of chosen) {
        const copy = element.cloneNode(true);
        copy.style.cssText += pick([";display:none", ";visibility:hidden;position:absolute", ";position:absolute;left:-9999px"]);
        element.before(copy);
      }
      return chosen.length;
    },
    cards() {
      const tables = all("table").filter((table) => shown(table) && table.tBodies.length && !table.querySelector("table,form") && rows().some((row) => table.contains(row)));
      for (const table of tables) {
        const list = table.ownerDocument.createElement("div");
        for (const row of Array.from(table.tBodies).flatMap((body) => Array.from(body.rows))) {
          const card = table.ownerDocument.createElement("div");
          card.className = "card";
          for (const cell of Array.from(row.cells)) {
            const part = table.ownerDocument.createElement("div");
            part.append(...cell.childNodes);
            card.append(part);
          }
          list.append(card);
        }
        table.replaceWith(list);
      }
      return tables.length;
    },
    labels_to_placeholders() {
      let count = 0;
      for (const field of all("input,textarea").filter((one) => shown(one) && /^(?:text|email|password|search|tel|url|textarea)$/.test(one.type))) {
        const [label] = field.labels ?? [];
        if (!label?.textContent.trim()) continue;
        field.placeholder = label.textContent.trim().replace(/[:*]$/, "");
        if (label.contains(field)) label.replaceWith(field);
        else label.remove();
        count++;
      }
      return count;
    },
    another_order_and_name() {
      const count = OPERATORS.reorder_siblings();
      const named = controls().filter((one) => /^(?:BUTTON|A)$/.test(one.tagName) && one.textContent.trim() && !inRow(one));
      if (!named.length) return count;
      const element = pick(named);
      element.textContent = pick(UNRELATED);
      element.removeAttribute("aria-label");
      for (const [number, one] of held) if (one === element) lost.add(number);
      return count + 1;
    },
    new_words_and_moved() {
      let count = 0;
      for (const element of some(controls().filter((one) => /^(?:BUTTON|A)$/.test(one.tagName) && one.textContent.trim()), 0.3)) {
        element.textContent = pick(UNRELATED);
        element.removeAttribute("aria-label");
        const place = pick(all("div,section,main,form,body").filter((block) => block.getRootNode() === element.getRootNode() &&
          !element.contains(block)));
        place?.append(element);
        for (const [number, one] of held) if (one === element) lost.add(number);
        count++;
      }
      return count;
    },
  };

  const isHeld = (element) => [...held.values()].includes(element);

  /** What moves together with a control: its label, when that stands around it or right before it. */
  function wholeOf(element) {
    const label = element.closest("label");
    if (label) return label;
    const own = element.id ? element.getRootNode().querySelector(`label[for="${CSS.escape(element.id)}"]`) : null;
    if (!own || own.contains(element)) return element;
    if (own.parentElement === element.parentElement) {
      const group = element.ownerDocument.createElement("span");
      element.before(group);
      group.append(own, " ", element);
      return group;
    }
    const line = element.closest("tr,p,li,div");
    return line && line.contains(own) && line.tagName !== "TR" && line.querySelectorAll(CONTROLS).length < 3 ? line : element;
  }

  /** Classes that hide or show must stay: a page whose hidden parts come to light is another page. */
  function hides(element) {
    const style = getComputedStyle(element);
    return style.display === "none" || Array.from(element.querySelectorAll("*")).slice(0, 50)
      .some((inner) => getComputedStyle(inner).display === "none");
  }

  /** Makes a copied part about something else: other words, other numbers, no ids. */
  function makeAnother(copy) {
    const walker = copy.ownerDocument.createTreeWalker(copy, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const { data, parentElement } = walker.currentNode;
      if (parentElement?.closest("button,label,option")) continue;
      if (/[\p{L}\p{N}]/u.test(data)) walker.currentNode.data = `${pick(UNRELATED)} ${Math.floor(random() * 900)}`;
    }
    for (const element of [copy, ...copy.querySelectorAll("*")]) element.removeAttribute("id"), element.removeAttribute("for");
    for (const element of copy.querySelectorAll("a[href]")) element.setAttribute("href", `/${word()}`);
  }

  // ------------------------------------------------------------------------------------------- calls

  /** The path as the page agent writes it. */
  function pathOf(element) {
    const steps = [];
    for (let at = element; at; ) {
      const html = at.namespaceURI === "http://www.w3.org/1999/xhtml";
      const tag = at.localName;
      const parent = at.parentNode;
      if (html && (tag === "html" || tag === "body")) {
        steps.push(tag);
      } else {
        const like = Array.from(parent?.children ?? []).filter((child) => child.localName === tag);
        steps.push(`${html ? tag : `*[name()="${tag}"]`}[${like.indexOf(at) + 1}]`);
      }
      if (parent instanceof (at.ownerDocument.defaultView ?? globalThis).ShadowRoot) {
        steps.push("#shadow");
        at = parent.host;
      } else {
        at = parent?.nodeType === 1 ? parent : null;
      }
    }
    return "/" + steps.reverse().join("/");
  }

  const framesOf = (element) => {
    const path = [];
    for (let view = element.ownerDocument.defaultView; view && view !== top; view = view.parent) {
      path.unshift(Array.from(view.frameElement.ownerDocument.querySelectorAll("iframe,frame")).indexOf(view.frameElement));
    }
    return path.join(".");
  };
  const keyOf = (element) => `${framesOf(element)}|${pathOf(element)}`;

  globalThis.__mutationBed = {
    operators: Object.keys(OPERATORS),
    /** Holds the elements with these keys by their numbers; returns the numbers that were found. */
    track(keys) {
      held.clear();
      lost.clear();
      const wanted = new Map(keys.map((key, number) => [key, number]));
      for (const element of all("*")) {
        const key = keyOf(element);
        if (wanted.has(key)) held.set(wanted.get(key), element);
      }
      return [...held.keys()];
    },
    /** Applies operators one after the other; returns how many places each has changed. */
    apply(names, seed) {
      random = seeded(seed);
      return names.map((name) => OPERATORS[name]());
    },
    /** Where the held elements are now: their keys by number, null when not to be seen; and whom nobody would know again. */
    whereabouts: () => ({
      keys: Object.fromEntries(Array.from(held, ([number, element]) =>
        [number, element.isConnected && shown(element) ? keyOf(element) : null])),
      lost: [...lost],
    }),
    /** Takes one held element out of the page for good. */
    takeAway(number) {
      const element = held.get(number);
      if (!element?.isConnected) return false;
      const row = element.closest("tbody tr,[role=row],article,li");
      (row && random() < 0.5 ? row : wholeOf(element)).remove();
      return true;
    },
  };
})();
