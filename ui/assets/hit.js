// The result that is chosen in the table: its title and all that an unfolded card shows.
import { anchor, anchored, isPlain, made, mounting, short } from "./made.js";
import { unfolded } from "./unfolded.js";

export default mounting(viewOf);

// Go to another page of the app without loading it again: Streamlit follows as it follows Back and Forward.
function follow(href) {
  return (event) => {
    if (!isPlain(event) || event.button) return;
    event.preventDefault();
    window.history.pushState({}, "", `/${href}`);
    window.dispatchEvent(new PopStateEvent("popstate", { state: {} }));
  };
}

function viewOf(root) {
  const element = made("section", { className: "cps cps-hit", ariaLabel: "Chosen result" });
  root.append(element);
  const copy = (text, done, button) => {
    if (navigator.clipboard) navigator.clipboard.writeText(text).then(() => { button.textContent = "Copied"; });
    else button.textContent = "This browser copies only over https";
  };
  const thumb = (card) => made("img", {
    className: "cps-thumb", src: card.picture, alt: "", onerror: (event) => event.target.remove(),
  });
  const off = new AbortController();
  let row;
  const update = ({ data: { card, others } }) => {
    row = short(card.key);
    anchor("row", [row]);
    element.replaceChildren(
      made("h2", {}, made("a", { href: card.passage.href, className: "cps-title", onclick: follow(card.passage.href) }, card.title)),
      made("p", { className: "cps-crumb" }, card.crumb),
      unfolded({ card, others, follow, copy, thumb, id: "cps-chosen-hit" }));
  };
  off.signal.addEventListener("abort", () => { if (anchored("row")[0] === row) anchor("row", []); }); // no row is chosen now
  return { off, update };
}
