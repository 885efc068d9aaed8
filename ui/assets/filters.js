// The filters of the Ask page.
import { changed, chips } from "./chips.js";
import { focusOn, made, mounting } from "./made.js";

export default mounting(viewOf);

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
