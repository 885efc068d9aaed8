// The box that a page begins with has the focus, unless something else has it.
import { focusOn } from "./made.js";

const seen = new WeakSet();

export default function mount({ data, parentElement }) {
  if (!seen.has(parentElement)) focusOn(data);
  seen.add(parentElement);
}
