// How elements and views are made. Text from notes enters the page here only, and only as text.

const REMOUNT_MS = 1000;

export function made(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in element) element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== "" && child !== null && child !== undefined));
  return element;
}

export const pieces = (found) => found.map(([text, isMarked]) => (isMarked ? made("mark", {}, text) : text));

const TAGS = { heading: "h3", item: "li", quote: "blockquote", code: "pre", text: "p", row: "tr" };
const SHARED = { LI: "ul", TR: "table" }; // what elements that follow each other share

// The blocks of a passage; list items that follow each other share one list, rows one table.
export function blocks(found) {
  const elements = [];
  for (const { kind, pieces: of } of found) {
    const element = made(TAGS[kind], {}, ...(kind === "row" ? cells(of) : pieces(of)));
    const shared = SHARED[element.tagName];
    if (!shared) elements.push(element);
    else if (elements.at(-1)?.localName === shared) elements.at(-1).append(element);
    else elements.push(made(shared, {}, element));
  }
  return elements;
}

// The cells of a row, which tabs divide.
function cells(of) {
  const found = [made("td")];
  for (const [text, isMarked] of of) {
    text.split("\t").forEach((part, number) => {
      if (number) found.push(made("td"));
      found.at(-1).append(...pieces([[part, isMarked]]));
    });
  }
  return found;
}

export const said = (found) => found.map(([text]) => text).join("");

export const isPlain = (event) => !(event.ctrlKey || event.metaKey || event.altKey || event.shiftKey);

export const isTyping = (event) =>
  event.composedPath()[0].matches?.("input, textarea, select, [contenteditable=true]");

// What is unfolded or chosen stands behind the # of the address, where no search is: `#open=a,b` or `#row=a`, each a
// passage by the beginning of its key. Streamlit may write an address anew on the way back to it, without that: so it is
// remembered, too, until the page is loaded again.
const remembered = new Map();
export const addressNow = () => window.location.pathname + window.location.search;
export const short = (key) => key.slice(0, 8);
export function anchored(name) {
  const named = new URLSearchParams(window.location.hash.slice(1)).get(name)?.split(",");
  if (named) remembered.set(addressNow() + name, named);
  return remembered.get(addressNow() + name) ?? [];
}
export function anchor(name, keys) {
  const named = keys.map(short);
  remembered.set(addressNow() + name, named);
  window.history.replaceState(window.history.state, "", addressNow() + (named.length ? `#${name}=${named.join(",")}` : ""));
}

// Where the focus is when nobody put it there: nowhere, in the bar of pages, or on a dialog or its cross.
const UNPLACED = "body, .st-key-pages *, [role=dialog], [role=dialog] button[aria-label=Close]";

// Focus what the selector finds, as soon as it is there. What has the focus keeps it, unless it goes with what was drawn
// before; somebody who moves the focus meanwhile ends this.
export function focusOn(selector, frames = 600, had = undefined) {
  const now = document.activeElement, box = document.querySelector(selector), isFree = now.matches(UNPLACED);
  if (had && (isFree ? had.isConnected : had !== now)) return;
  const isBehind = now.closest("[role=dialog]") && !box?.closest("[role=dialog]");
  if (isFree && box && !isBehind) box.focus({ preventScroll: true });
  else if (frames) requestAnimationFrame(() => focusOn(selector, frames - 1, isFree ? undefined : now));
}

// What Streamlit calls for an element and again for every change of its data: one view each, made by `viewOf`.
// Only the last cleanup runs; Streamlit may go on with the same element at once, which keeps its view.
export function mounting(viewOf) {
  const views = new WeakMap();
  return (component) => {
    const root = component.parentElement;
    if (!views.has(root)) views.set(root, viewOf(root));
    const view = views.get(root), mounts = (view.mounts ?? 0) + 1;
    view.mounts = mounts;
    view.update(component);
    const end = () => {
      if (view.mounts !== mounts) return;
      view.off.abort();
      views.delete(root);
    };
    return () => setTimeout(() => (root.isConnected ? setTimeout(end, REMOUNT_MS) : end()));
  };
}
