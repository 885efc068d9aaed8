// How elements are made. Text from notes enters the page here only, and only as text.

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

const TAGS = { heading: "h3", item: "li", quote: "blockquote", code: "pre", text: "p" };

// The blocks of a passage; list items that follow each other share one list.
export function blocks(found) {
  const elements = [];
  for (const { kind, pieces: of } of found) {
    const element = made(TAGS[kind], {}, ...pieces(of));
    if (kind !== "item") elements.push(element);
    else if (elements.at(-1)?.tagName === "UL") elements.at(-1).append(element);
    else elements.push(made("ul", {}, element));
  }
  return elements;
}

export const said = (found) => found.map(([text]) => text).join("");

export const isPlain = (event) => !(event.ctrlKey || event.metaKey || event.altKey || event.shiftKey);

export const isTyping = (event) =>
  event.composedPath()[0].matches?.("input, textarea, select, [contenteditable=true]");
