// The filters of the Ask page. A new question is brought to the top of the window, with room below it for its answer.
import { changed, chips } from "./chips.js";
import { focusOn, made, mounting } from "./made.js";

export default mounting(viewOf);

function viewOf(root) {
  const off = new AbortController();
  off.signal.addEventListener("abort", () => delete document.body.dataset.askedTurn);
  let search = "", send, busy, turn;
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
      if (data.turn < turn) delete document.body.dataset.askedTurn;
      else if (data.turn > turn) scrollTo(data.turn);
      turn = data.turn;
      if (data.busy === busy) return;
      busy = data.busy;
      if (!busy) focusOn(".st-key-ask_box input");
    },
  };
}

function scrollTo(turn, frames = 120) {
  const question = document.getElementById(`turn-${turn}`), last = question?.closest(".st-key-ask_turn_last");
  if (!last) {
    if (frames) requestAnimationFrame(() => scrollTo(turn, frames - 1));
    return;
  }
  document.body.dataset.askedTurn = turn; // see hits.css
  question.scrollIntoView({ block: "start" });
}
