// The Search page.
import { box as makeBox } from "./box.js";
import { changed, chips as makeChips } from "./chips.js";
import { addressNow, anchored, isPlain, made, mounting } from "./made.js";
import { results as makeResults } from "./results.js";

const ANSWER_MS = 3000;

let left; // the box that was shown last, with its text and its search: another may take its place while somebody types

export default mounting(viewOf);

// A search as it stands in the address, spelled one way whoever wrote it.
function spelled(search) {
  const params = new URLSearchParams(search);
  params.sort();
  return params.toString();
}

function viewOf(root) {
  const off = new AbortController();
  const { signal } = off;
  const pending = []; // searches committed here that have not come back yet
  let component, committed, typed = "", timer, tries = 0;
  const row = anchored("row")[0] ?? ""; // of the table, when the page was opened
  let isGoing = false; // Back or Forward was pressed, and what is shown is still of the address before
  window.addEventListener("popstate", () => {
    isGoing = spelled(window.location.search) !== committed;
    setTimeout(() => { isGoing = false; }, ANSWER_MS); // where they led to the same search
  }, { signal });

  // One value says everything: two could be handled in the other order. A run that begins at the same moment
  // may swallow it, so it is sent again where no answer comes to the text, or to the search that was committed
  // (`further` times, as it may come back in other words). `unsettled`: the address may not have it yet.
  // After Back or Forward nothing is sent until their search is here: the one before would come back with it.
  const send = (here = "", forget = false, act = undefined, further = 3) => {
    if (isGoing) return;
    component.setStateValue("asked", { text: typed, search: committed, unsettled: pending.length > 0, here, forget, act, row, tries });
    clearTimeout(timer);
    timer = setTimeout(() => {
      const isLost = component.data.text !== typed || (pending.length > 0 && further > 0);
      if (isLost) { tries += 1; send("", false, undefined, further - 1); }
    }, ANSWER_MS);
  };
  const put = (params, act) => {
    committed = spelled(params);
    isGoing = false;
    pending.push(committed);
    tries += 1; // what was asked before Back is asked anew
    send("", false, act);
  };
  const now = (changes) => changed(committed, { page: [], ...changes });
  const change = (changes) => {
    if (changes.q) box.input.value = changes.q[0] ?? "";
    typed = box.input.value;
    put(now({ q: typed.trim() ? [typed] : [], ...changes }));
  };
  const openSaved = ({ saved, params }) => {
    typed = box.input.value = params.q?.[0] ?? "";
    put(changed("", params), { kind: "open", name: saved });
  };
  const onSaved = (act) => {
    box.input.focus(); // a list that has the focus stays as it is
    tries += 1;
    send("", false, act);
  };
  const removeSaved = ({ saved }) => onSaved({ kind: "remove", name: saved });
  const renameSaved = ({ saved }, name) => onSaved({ kind: "rename", name: saved, new_name: name });
  const open = (href) => { // without loading the page again: Streamlit follows as it follows Back and Forward
    const here = now({ q: box.input.value.trim() ? [box.input.value] : [], ...(isCommitted() && { page: pageNow() }) });
    window.history.replaceState({}, "", `?${here}${window.location.hash}`); // what Back comes back to
    window.history.pushState({}, "", `/${href}`);
    window.dispatchEvent(new PopStateEvent("popstate", { state: {} }));
  };
  const isCommitted = () => (new URLSearchParams(committed).get("q") ?? "") === box.input.value;
  const pageNow = () => new URLSearchParams(committed).getAll("page");

  const box = makeBox({
    signal,
    ask: (text) => { typed = text; send(); },
    commit: (text) => {
      if (isCommitted() && text && component.data.text === text) found.openFirst();
      else change({ q: text.trim() ? [text] : [] });
    },
    down: () => found.first(),
  });
  window.addEventListener("click", (event) => { // Search in the bar begins anew, here without a round trip
    if (!event.target.closest?.('.st-key-pages a[href=""]') || !isPlain(event)) return;
    event.preventDefault();
    event.stopPropagation();
    window.typedEarly = undefined;
    box.input.value = typed = "";
    put("");
    box.input.focus();
  }, { signal, capture: true });
  const filters = makeChips({ change, signal });
  const status = made("p", { className: "cps-status", role: "status" });
  const say = (text) => { status.textContent = text; };
  const found = makeResults({ open, ask: send, forget: () => send("", true), openSaved, renameSaved, removeSaved, box: box.input, say, signal });
  const views = ["cards", "table"].map((name) => made("button", {
    type: "button", ariaPressed: "false", textContent: { cards: "Cards", table: "Table" }[name],
    onclick: () => change({ view: name === "table" ? [name] : [] }),
  }));
  const quick = made("div", { className: "cps-quick" }); // always as high, so that results stay where they are
  const tools = made("div", { className: "cps-tools" }, filters.element, quick, status,
    made("div", { className: "cps-views", role: "group", ariaLabel: "Show as" }, ...views));
  const nameOfSearch = made("input", { type: "text", maxLength: 100, required: true, placeholder: "Name", "aria-label": "Name of the search" });
  const saving = made("form", { className: "cps-saving", hidden: true, onsubmit: (event) => {
    event.preventDefault();
    saving.hidden = true;
    typed = box.input.value;
    put(now({ q: typed.trim() ? [typed] : [] }), { kind: "save", name: nameOfSearch.value });
    saves.focus();
  } }, nameOfSearch, made("button", { type: "submit" }, "Save search"));
  const saves = made("button", { type: "button", className: "cps-chip cps-save", hidden: true, onclick: () => {
    saving.hidden = !saving.hidden;
    nameOfSearch.value = box.input.value.slice(0, 100);
    if (!saving.hidden) nameOfSearch.select();
  } }, "Save");
  tools.insertBefore(saves, quick);
  const beside = made("div", { className: "cps-beside" });
  const foot = made("div", { className: "cps-foot" });
  root.append(made("div", { className: "cps" }, made("h1", { className: "cps-hidden" }, "Search"), box.element, tools, saving, beside, found.element, foot, found.chosen));

  const turn = (name, page, isThere) => made("button", {
    type: "button", disabled: !isThere, onclick: () => change({ page: page > 1 ? [String(page)] : [] }),
  }, name);
  const drawAround = (data) => {
    status.replaceChildren(data.error || data.status, ...(data.unread ? [" · ", found.wayOf(data.unread)] : []));
    status.classList.toggle("cps-error", Boolean(data.error));
    const fits = data.cards.some((card) => !card.is_near), offers = data.offers.map((way) => found.wayOf(way, change));
    quick.replaceChildren(...(fits ? offers : []), ...data.quick.map((way) => found.wayOf(way, change)));
    beside.replaceChildren(...data.said.map((text) => made("p", { className: "cps-said" }, text)), ...(fits ? [] : offers));
    saves.hidden = !data.can_save;
    saves.textContent = data.is_saved ? "Saved" : "Save";
    views[0].parentElement.hidden = !data.cards.length;
    views.forEach((button, number) => { button.ariaPressed = String((data.view === "table") === Boolean(number)); });
    const several = data.cards.length > 0 && (data.page > 1 || data.has_more);
    foot.replaceChildren(...(several ? [turn("Previous", data.page - 1, data.page > 1), made("span", {}, `Page ${data.page}`),
      turn("Next", data.page + 1, data.has_more)] : []), data.end && made("span", {}, data.end) || "");
  };
  const isReplaced = (here) => left && !left.input.isConnected && left.search === here && left.address === addressNow();
  let page = 1;
  const update = (next) => {
    const isNew = !component;
    component = next;
    const { data } = next;
    const here = spelled(data.search), echo = pending.indexOf(here);
    if (here !== committed || here === spelled(window.location.search)) isGoing = false;
    if (isNew && isReplaced(here)) {
      committed = here;
      typed = data.text;
      box.replace(left.input);
    }
    if (echo >= 0) pending.splice(0, echo + 1);
    else if (!pending.length && committed !== here) { // a link, Back, Forward
      committed = here;
      typed = box.input.value = data.text;
    }
    if (isNew) box.name(data.label, data.help);
    if (isNew && !document.activeElement.matches("input, textarea")) box.input.focus();
    if (isNew && (window.typedEarly?.text || box.input.value !== data.text)) { // see frame.js
      box.type(window.typedEarly?.text ?? "");
    }
    if (isNew) window.typedEarly = undefined;
    if (isNew && row && data.view === "table") send();
    left = { input: box.input, search: committed, address: addressNow() };
    window.lastBox = box.input;
    if (data.text === box.input.value) box.complete(data.completions);
    filters.update(data.chips, committed);
    drawAround(data);
    found.update(data, change);
    if (data.page !== page) root.closest("[data-testid=stMain]")?.scrollTo(0, 0);
    page = data.page;
  };
  const news = () => { tries += 1; send(); }; // see news.js
  window.addEventListener("news", news, { signal });
  signal.addEventListener("abort", () => clearTimeout(timer));
  return { off, update };
}
