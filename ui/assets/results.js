// What was found: cards, and a preview of the one that is chosen, all of it in the page already.
import { anchor, anchored, isPlain, isTyping, made, pieces, said, short } from "./made.js";
import { factsOf, otherPassages, unfolded, wholeText } from "./unfolded.js";

let opened; // the note that was opened last, and for which text: Back comes back to it

const REST_MS = 250; // so long a card is looked at before its other passages are asked for
const READ_MS = 2000; // between two looks whether what came meanwhile can be shown

export function results({ open: visit, ask, forget, openSaved, renameSaved, removeSaved, box, say, signal }) {
  const list = made("div", { className: "cps-list", id: "cps-results" });
  const preview = made("section", { className: "cps-preview", ariaLabel: "Preview", tabIndex: 0 });
  const chosen = made("div", { className: "cps-chosen", hidden: true });
  const element = made("div", { className: "cps-body" }, list, preview);
  let cards = [], rows = [], at = 0, first, drawn, drawnFor, timer, later;
  const marked = new Set();
  const open = new Set(); // the keys of the cards that are unfolded
  const othersOf = new Map(); // the other passages of a note, by the key of its card

  const links = () => [...list.querySelectorAll(".cps-item")];
  const show = (to) => {
    rows[at]?.classList.remove("cps-here");
    at = Math.max(0, Math.min(rows.length - 1, to));
    rows[at]?.classList.add("cps-here");
    if (cards[at]) drawPreview(cards[at]);
    preview.hidden = !cards.length;
    preview.scrollTop = 0;
    showOthers();
    clearTimeout(timer);
    if (lacksOthers(cards[at]) && preview.offsetWidth) timer = setTimeout(() => askOthers(cards[at]), REST_MS);
  };
  const lacksOthers = (card) => card?.more && !othersOf.has(card.key);
  const askOthers = (card) => { if (lacksOthers(card)) ask(card.key); };
  const showOthers = () => {
    const others = othersOf.get(cards[at]?.key);
    if (others && !body.querySelector(".cps-other")) body.append(...otherPassages(others, follow));
  };
  const take = (others) => { // one note's a time: the next that is open is asked for then
    if (others && !othersOf.has(others.key)) {
      othersOf.set(others.key, others.passages);
      const number = cards.findIndex((card) => card.key === others.key);
      if (open.has(others.key) && number >= 0) unfold(number, true);
    }
    showOthers();
    askOthers(cards.find((card) => open.has(card.key) && lacksOthers(card)));
  };
  const unfold = (number, isOpen) => {
    const card = cards[number], row = rows[number], chevron = row?.querySelector(".cps-chevron");
    if (!chevron) return;
    const focus = document.activeElement, isInside = row.querySelector(".cps-unfolded")?.contains(focus);
    const stops = isInside ? [...row.querySelectorAll(".cps-unfolded :is(a, button)")] : [];
    row.querySelector(".cps-unfolded")?.remove();
    open[isOpen ? "add" : "delete"](card.key);
    chevron.ariaExpanded = String(isOpen);
    row.classList.toggle("cps-open", isOpen);
    if (isOpen) {
      row.append(unfolded({ card, others: othersOf.get(card.key), follow, copy, thumb, id: `cps-unfolded-${number}` }));
    }
    if (isInside) (isOpen ? row.querySelectorAll(".cps-unfolded :is(a, button)")[stops.indexOf(focus)] : null)?.focus();
    if (isInside && !row.contains(document.activeElement)) row.querySelector(".cps-title").focus();
  };
  const toggle = (number) => {
    const isOpen = !open.has(cards[number].key);
    unfold(number, isOpen);
    if (isOpen) askOthers(cards[number]);
    anchor("open", [...open]);
  };
  const go = (to) => {
    if (to < 0) return box.focus();
    const stops = cards.length ? rows.map((row) => row.querySelector("a")) : links();
    const stop = stops[Math.min(to, stops.length - 1)];
    if (!stop) return undefined;
    stop.focus({ preventScroll: true });
    return (rows[at] ?? stop).scrollIntoView({ block: "nearest" });
  };
  const leave = (href) => {
    opened = { key: cards[at]?.key, text: list.dataset.query };
    visit(href);
  };
  const comeBack = (to) => { // once the styles are there and the page that was left is gone
    if (getComputedStyle(element).display !== "grid") return requestAnimationFrame(() => comeBack(to));
    list.closest("[data-testid=stMain]")?.scrollTo(0, 0);
    return go(to);
  };
  const here = () => (cards.length ? at : links().indexOf(document.activeElement));
  const follow = (href) => (event) => {
    if (!isPlain(event) || event.button) return; // another tab or window is the browser's to open
    event.preventDefault();
    event.stopPropagation();
    leave(href);
  };

  const titled = (card, number) => made("a", {
    href: card.passage.href, className: "cps-title", onclick: press(card, number), onfocus: () => show(number),
  }, ...pieces(card.marked_title));
  const press = (card, number) => (event) => { // without room for a preview, the card itself says more
    if (preview.offsetWidth || !isPlain(event) || event.button) return follow(card.passage.href)(event);
    event.preventDefault();
    event.stopPropagation();
    return toggle(number);
  };
  const chevronOf = (card, number) => made("button", {
    type: "button", className: "cps-chevron", ariaExpanded: "false", ariaLabel: `More of ${card.title}`,
    "aria-controls": `cps-unfolded-${number}`,
    onclick: (event) => { event.stopPropagation(); show(number); toggle(number); },
  });
  const thumb = (card) => made("img", {
    className: "cps-thumb", src: card.picture, alt: "", loading: "lazy", onerror: (event) => event.target.remove(),
  });
  const cardOf = (card, number) => made("article", {
    className: card.is_near ? "cps-card cps-near" : "cps-card",
    onclick: () => { show(number); if (!preview.offsetWidth) toggle(number); }, // no room for a preview
  },
  made("h2", {}, titled(card, number)), chevronOf(card, number),
  made("span", { className: "cps-age", title: card.day }, card.age),
  made("p", { className: "cps-crumb", title: card.place }, card.crumb),
  made("p", { className: "cps-extract" }, ...pieces(card.extract)),
  card.file_type === "picture" ? thumb(card) : "",
  made("p", { className: "cps-why" }, made("span", {}, card.reason),
    card.more ? made("span", {}, `${card.more} more passage${card.more > 1 ? "s" : ""}`) : "",
    card.state ? made("span", { className: "cps-state" }, card.state) : ""));

  const draw = () => {
    const near = cards.findIndex((card) => card.is_near);
    rows = cards.map(cardOf);
    rows.forEach((row, number) => row.addEventListener("focusin", () => { if (at !== number) show(number); }));
    list.replaceChildren(...rows.flatMap((row, number) =>
      (number === near && near > 0 ? [made("p", { className: "cps-divider" }, "Near misses"), row] : [row])));
  };
  // Its parts stay when another note is shown: whoever tabs through the notes does not lose them.
  const heading = made("h2"), crumb = made("p", { className: "cps-crumb" }), body = made("div"), facts = made("dl");
  const opens = made("a", { onclick: (event) => follow(cards[at].passage.href)(event) }, "Open");
  const program = made("a");
  const copies = made("button", { type: "button", onclick: () => copy(cards[at].place, "Path copied") }, "Copy path");
  preview.append(
    made("header", {}, heading, crumb, made("p", { className: "cps-acts" }, opens, program, copies)), body,
    made("details", {}, made("summary", {}, "Details"), facts));
  const drawPreview = (card) => {
    heading.textContent = card.title;
    crumb.textContent = card.crumb;
    copies.textContent = "Copy path";
    opens.href = card.passage.href;
    program.hidden = !card.app;
    program.href = card.app || "#";
    program.textContent = `Open in ${card.app_name}`;
    body.replaceChildren(wholeText(card));
    if (card.picture) body[card.file_type === "picture" ? "prepend" : "append"](thumb(card));
    facts.replaceChildren(...factsOf(card));
  };

  const copy = (text, done, button = copies) => {
    if (!navigator.clipboard) return say("This browser copies only over https");
    return navigator.clipboard.writeText(text).then(() => { button.textContent = "Copied"; say(done); });
  };
  const copyMarked = () => copy(asMarkdown(), "Copied as Markdown", chosen.children[1]);
  const asMarkdown = () => [...marked].map((number) => {
    const card = cards[number];
    const text = card.passage.blocks.map((block) => said(block.pieces)).join("\n\n").replace(/\n/g, "\n> ");
    return `> ${text}\n>\n> — ${card.title} (${card.place})`;
  }).join("\n\n");
  const select = (number) => {
    if (!marked.delete(number)) marked.add(number);
    rows.forEach((row, each) => row.classList.toggle("cps-marked", marked.has(each)));
    chosen.hidden = !marked.size;
    const all = { type: "button", onclick: copyMarked };
    const none = { type: "button", onclick: unmark };
    chosen.replaceChildren(made("span", {}, `${marked.size} selected`), made("button", all, "Copy as Markdown"),
      made("button", none, "Clear"));
  };
  const unmark = () => {
    marked.clear();
    chosen.hidden = true;
    rows.forEach((row) => row.classList.remove("cps-marked"));
  };

  const move = (by) => go(list.contains(document.activeElement) ? here() + by : here());
  const keys = {
    j: () => move(1),
    k: () => move(-1),
    c: () => (marked.size ? copyMarked() : copy(cards[at].place, "Path copied")),
    o: () => { if (cards[at].app) program.click(); },
    " ": () => select(at),
    Enter: () => leave(cards[at].passage.href),
    Escape: () => (marked.size ? unmark() : box.focus()),
    ArrowRight: () => { if (!open.has(cards[at].key)) toggle(at); },
    ArrowLeft: () => { if (open.has(cards[at].key)) toggle(at); },
  };
  const arrows = { ArrowDown: keys.j, ArrowUp: keys.k }; // elsewhere they scroll
  const onTitle = new Set(["Enter", " "]); // elsewhere they press what has the focus
  const inList = new Set(["Escape", "ArrowRight", "ArrowLeft"]);
  window.addEventListener("keydown", (event) => { // captured: Streamlit has a key C of its own
    const isHere = list.contains(document.activeElement);
    const act = arrows[event.key] ? isHere && arrows[event.key]
      : onTitle.has(event.key) ? isHere && document.activeElement.matches(".cps-title") && keys[event.key]
      : inList.has(event.key) ? isHere && cards.length && keys[event.key]
        : (cards.length || "jk".includes(event.key)) && keys[event.key];
    if (!act || isTyping(event) || !isPlain(event)) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  }, { signal, capture: true });

  const savedOf = (way) => {
    const renames = made("button", {
      type: "button", className: "cps-cross cps-rename", ariaLabel: `Rename ${way.label}`, title: "Rename",
      onclick: () => {
        line.replaceChildren(renaming(way, () => { line.replaceChildren(...parts); renames.focus(); }));
        line.querySelector("input").select(); // at once: what is typed next is the name
      },
    }, "✎");
    const parts = [
      made("button", { type: "button", className: "cps-item", title: way.hint, onclick: () => openSaved(way) },
        made("span", {}, way.label), way.beside ? made("span", { className: "cps-crumb" }, way.beside) : ""),
      renames,
      made("button", { type: "button", className: "cps-cross", ariaLabel: `Remove ${way.label}`, onclick: () => removeSaved(way) }, "×"),
    ];
    const line = made("div", { className: "cps-saved" }, ...parts);
    return line;
  };
  const renaming = (way, cancel) => {
    const name = made("input", { type: "text", maxLength: 100, required: true, value: way.label, ariaLabel: `New name of ${way.label}` });
    const form = made("form", { className: "cps-saving", onsubmit: (event) => {
      event.preventDefault();
      if (name.value === way.label) cancel();
      else renameSaved(way, name.value);
    } }, name, made("button", { type: "submit" }, "Rename"));
    form.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      event.preventDefault();
      event.stopPropagation();
      cancel();
    });
    return form;
  };
  const wayOf = (way, press) => {
    if (way.saved) return savedOf(way);
    const said = [made("span", {}, way.label), way.beside && made("span", { className: "cps-crumb" }, way.beside)];
    return way.href
      ? made("a", { href: way.href, className: "cps-item", onclick: follow(way.href), title: way.hint }, ...said)
      : made("button", { type: "button", className: "cps-item", onclick: () => press(way.params) }, ...said);
  };

  const isRead = () => at > 0 || open.size > 0 || element.contains(document.activeElement)
    || list.closest("[data-testid=stMain]")?.scrollTop > 0;
  const isInAddress = (data) => (new URLSearchParams(window.location.search).get("q") ?? "") === data.text;
  const update = (data, press) => {
    const now = JSON.stringify([data.cards, data.view, data.start]);
    const asked = JSON.stringify([data.text, data.search, data.view]);
    list.dataset.query = data.text;
    clearTimeout(later);
    if (drawn === now) return take(data.others);
    if (drawnFor === asked && isRead()) { // news move nothing that is read
      later = setTimeout(() => update(data, press), READ_MS);
      return take(data.others);
    }
    const isOther = drawnFor !== asked;
    if (isOther) open.clear();
    othersOf.clear();
    [drawn, drawnFor] = [now, asked];
    const before = list.contains(document.activeElement) ? here() : -1, key = cards[before]?.key;
    unmark();
    cards = data.view === "table" ? [] : data.cards;
    if (isOther && isInAddress(data)) {
      const unfolded = anchored("open");
      cards.forEach((card) => unfolded.includes(short(card.key)) && open.add(card.key));
    }
    const same = key ? cards.findIndex((card) => card.key === key) : -1;
    const had = same >= 0 ? same : before; // whoever is on a note stays on it, wherever it stands now
    element.classList.toggle("cps-as-table", data.view === "table");
    first = data.cards[0]; // the table is Streamlit's own, below
    if (cards.length) draw();
    else {
      rows = [];
      list.replaceChildren(...data.start.map(([name, ways]) =>
        made("div", { className: "cps-start" }, made("h2", {}, name), ...ways.map((way) => wayOf(way, press)))));
      if (data.start.some(([name]) => name === "Searched" || name === "Opened")) {
        list.append(made("button", { type: "button", className: "cps-item cps-forget", onclick: forget },
          "Forget what I searched and opened"));
      }
    }
    const left = opened?.text === data.text ? cards.findIndex((card) => card.key === opened.key) : -1;
    opened = undefined;
    show(had > 0 ? had : 0);
    cards.forEach((card, number) => { if (open.has(card.key)) unfold(number, true); });
    take(data.others);
    if (left > 0 && had < 0) return comeBack(left);
    return had >= 0 && go(had);
  };
  signal.addEventListener("abort", () => clearTimeout(later));
  return { element, chosen, update, first: () => go(0), openFirst: () => first && visit(first.passage.href), wayOf };
}
