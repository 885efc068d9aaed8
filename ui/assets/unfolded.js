// A card that is open: the whole passage, the other passages of its note, how it scored, what is known of it, and
// what can be done with it.
import { blocks, made, pieces } from "./made.js";

export const passageOf = (passage) => made("div", { className: "cps-passage" }, ...blocks(passage.blocks));

// The text of a card's passage; where it has none, its extract.
export const wholeText = (card) => (card.passage.blocks.length ? passageOf(card.passage)
  : made("p", { className: "cps-passage cps-quiet" }, ...pieces(card.extract)));

// What is known of a card, as terms and their values.
export const factsOf = (card) => card.facts.flatMap(([name, value]) => [made("dt", {}, name), made("dd", {}, value)]);

export function otherPassages(others, follow) {
  return others.map((other) => made("div", { className: "cps-other" },
    made("a", { href: other.href, onclick: follow(other.href) }, other.where), passageOf(other)));
}

// `card` unfolded: `others` are the other passages of its note, undefined until the server has sent them.
export function unfolded({ card, others, follow, copy, thumb, id }) {
  const copies = made("button", { type: "button", onclick: () => copy(card.place, "Path copied", copies) }, "Copy path");
  const waits = card.more && !others ? [made("p", { className: "cps-quiet" }, "Other passages …")] : [];
  return made("div", { className: "cps-unfolded", id, onclick: (event) => event.stopPropagation() },
    card.picture ? thumb(card) : "", wholeText(card), ...otherPassages(others ?? [], follow), ...waits,
    made("dl", {}, ...factsOf(card)),
    made("p", { className: "cps-acts" },
      made("a", { href: card.passage.href, onclick: follow(card.passage.href) }, "Open"),
      card.app ? made("a", { href: card.app }, `Open in ${card.app_name}`) : "", copies));
}
