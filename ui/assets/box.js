// The box: it sends what is typed soon after, and what is committed at once.
import { isTyping, made } from "./made.js";

const DEBOUNCE_MS = 120;
const LONGEST_WAIT_MS = 400; // while somebody types without a pause

export function box({ ask, commit, down, signal }) {
  let timer, waiting = 0;
  const input = made("input", {
    id: "cps-q", type: "search", autocomplete: "off", spellcheck: false, enterKeyHint: "search",
    role: "combobox", "aria-controls": "cps-completions", "aria-autocomplete": "list", ariaExpanded: "false",
  });
  const completions = listOf({ input, choose: (text) => put(text), signal });
  const help = made("button", {
    type: "button", className: "cps-quiet cps-ask", textContent: "?", ariaLabel: "What can be typed",
    ariaExpanded: "false",
  });
  const panel = made("div", { className: "cps-panel", hidden: true });
  const element = made("div", { className: "cps-box", role: "search" }, icon(), input, made("kbd", {}, "/"), help, panel, completions.element);

  const send = () => {
    clearTimeout(timer);
    waiting = 0;
    ask(input.value);
  };
  const sendSoon = () => {
    clearTimeout(timer);
    waiting ||= performance.now();
    const left = Math.max(0, LONGEST_WAIT_MS - (performance.now() - waiting));
    timer = setTimeout(send, Math.min(DEBOUNCE_MS, left));
  };
  const unfold = (isOpen) => {
    panel.hidden = !isOpen;
    help.ariaExpanded = String(isOpen);
  };
  const put = (text) => {
    input.value = text;
    send();
  };
  const type = (text) => { // as if it were typed where the caret is
    input.setRangeText(text, input.selectionStart, input.selectionEnd, "end");
    send();
  };
  const replace = (before) => {
    input.value = before.value;
    input.setSelectionRange(before.selectionStart, before.selectionEnd);
  };
  const keys = {
    Enter: () => { clearTimeout(timer); waiting = 0; commit(input.value); },
    ArrowDown: down,
    Escape: () => put(""),
  };
  input.addEventListener("input", (event) => { if (!event.isComposing) sendSoon(); });
  input.addEventListener("compositionend", sendSoon);
  input.addEventListener("keydown", (event) => {
    if (event.isComposing || !(keys[event.key] || completions.keys[event.key])) return;
    const isTaken = completions.keys[event.key]?.();
    if (!isTaken && !keys[event.key]) return;
    event.preventDefault();
    event.stopPropagation();
    if (!isTaken) keys[event.key]();
  });
  help.onclick = () => unfold(panel.hidden);
  element.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || panel.hidden) return;
    event.stopPropagation();
    unfold(false);
    input.focus();
  }, { capture: true });
  window.addEventListener("pointerdown", (event) => {
    if (!element.contains(event.target)) unfold(false);
  }, { signal });
  window.addEventListener("keydown", (event) => {
    const isAsked = event.key === "k" ? event.ctrlKey || event.metaKey : event.key === "/" && !isTyping(event);
    if (!isAsked) return;
    event.preventDefault();
    event.stopPropagation();
    input.select(); // which focuses it, too
    input.focus();
  }, { signal, capture: true });

  const insert = (text) => {
    const [start, end] = [input.selectionStart, input.selectionEnd];
    const [before, behind] = text.split("…"); // where the caret goes, inside of quotes
    const gap = start && !/\s$/.test(input.value.slice(0, start)) ? " " : "";
    input.setRangeText(gap + before + (behind ?? ""), start, end, "end");
    const caret = start + gap.length + before.length;
    input.setSelectionRange(caret, caret);
    unfold(false);
    input.focus();
  };
  const name = (label, rows) => {
    input.placeholder = input.ariaLabel = label;
    const chips = rows.map(([text, what]) => made("button", { type: "button", onclick: () => insert(text) },
      made("code", {}, text), made("span", { className: "cps-quiet" }, what)));
    const keysSaid = [["↑ ↓", "move"], ["→ ←", "unfold"], ["Enter", "open"], ["o", "open in its program"], ["c", "copy path"],
      ["Space", "select"], ["/", "search"], ["Esc", "clear"]];
    const row = keysSaid.map(([key, what]) => made("span", {}, made("kbd", {}, key), ` ${what}`));
    panel.replaceChildren(made("div", { className: "cps-syntax" }, ...chips), made("p", { className: "cps-keys" }, ...row));
  };
  return { element, input, name, type, replace, complete: completions.update };
}

// The values that the filter at the caret can have: a list under the box, gone through by the arrows.
function listOf({ input, choose, signal }) {
  let ways = [], active = -1;
  const element = made("div", { className: "cps-menu cps-completions", id: "cps-completions", role: "listbox",
    ariaLabel: "What the filter can be", hidden: true });
  const mark = (to) => {
    active = to;
    [...element.children].forEach((option, number) => { option.ariaSelected = String(number === active); });
    element.children[active]?.scrollIntoView({ block: "nearest" });
    if (active < 0) input.removeAttribute("aria-activedescendant");
    else input.setAttribute("aria-activedescendant", element.children[active].id);
  };
  const unfold = (isOpen) => {
    element.hidden = !isOpen;
    input.ariaExpanded = String(isOpen);
    mark(-1);
    return true;
  };
  const take = (number) => {
    const { text } = ways[number];
    unfold(false);
    input.focus();
    choose(text);
    return true;
  };
  const step = (by) => () => {
    if (element.hidden) return false;
    mark((active + 1 + by + ways.length + 1) % (ways.length + 1) - 1);
    return true;
  };
  const keys = {
    ArrowDown: step(1),
    ArrowUp: step(-1),
    Enter: () => !element.hidden && (active >= 0 ? take(active) : unfold(false) && false),
    Escape: () => !element.hidden && unfold(false),
  };
  const update = (found) => {
    if (JSON.stringify(found) === JSON.stringify(ways)) return;
    ways = found;
    element.replaceChildren(...ways.map((way, number) => made("div", {
      id: `cps-completion-${number}`, role: "option", ariaSelected: "false",
      onpointerdown: (event) => { event.preventDefault(); take(number); },
    }, made("span", {}, way.label), made("span", { className: "cps-count" }, way.beside))));
    unfold(ways.length > 0 && document.activeElement === input);
  };
  input.addEventListener("blur", () => unfold(false), { signal });
  return { element, keys, update };
}

function icon() {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(svg.namespaceURI, "path");
  path.setAttribute("d", "M10.5 4a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13zM15.5 15.5 20 20");
  svg.append(path);
  return svg;
}
