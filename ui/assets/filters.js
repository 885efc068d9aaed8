// The filters of the Ask page. As in search.js there is one view per element.
import { changed, chips } from "./chips.js";
import { focusOn, made } from "./made.js";

const views = new WeakMap();

export default function mount(component) {
  const root = component.parentElement;
  if (!views.has(root)) views.set(root, viewOf(root));
  const view = views.get(root);
  view.update(component);
  return () => { view.off.abort(); views.delete(root); };
}

function viewOf(root) {
  const off = new AbortController();
  let search = "", send, busy;
  const change = (changes) => {
    search = changed(search, changes).toString();
    send("asked", { search });
  };
  const { element, update } = chips({ change, signal: off.signal });
  root.append(made("div", { className: "cps" }, element));
  return {
    off,
    update: ({ data, setTriggerValue }) => {
      send = setTriggerValue;
      search = data.search;
      update(data.chips, search);
      if (data.busy === busy) return;
      busy = data.busy;
      if (!busy) focusOn(".st-key-ask_box input");
    },
  };
}
