// Tells the Search page that what it depends on has changed. Streamlit draws only its results again then, with what
// is typed by now: drawing the whole page would take the box away for a moment if somebody types meanwhile.

const seen = new WeakMap();

export default function mount({ data, parentElement }) {
  if (seen.has(parentElement) && seen.get(parentElement) !== data) window.dispatchEvent(new Event("news"));
  seen.set(parentElement, data);
}
