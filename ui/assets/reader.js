// A link of a note to another page of the app is followed without loading the app again: Streamlit follows as
// it follows Back and Forward. A link to another site opens in a tab of its own. The number of a passage in an
// answer unfolds it beside the answer.

export default function mount() {
  const off = new AbortController();
  document.addEventListener("click", follow, { signal: off.signal });
  return () => off.abort();
}

function follow(event) {
  const link = event.target.closest?.(".cp a[href]");
  if (!link || event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const to = new URL(link.href), folded = link.hash && document.querySelector(`details[id="${CSS.escape(link.hash.slice(1))}"]`);
  if (folded) {
    event.preventDefault();
    folded.open = true;
    folded.scrollIntoView({ block: "nearest" });
    folded.querySelector("summary").focus({ preventScroll: true });
  } else if (to.origin !== location.origin) {
    event.preventDefault();
    window.open(to.href, "_blank", "noopener,noreferrer");
  } else if (link.getAttribute("href").startsWith("files?")) {
    event.preventDefault();
    const asked = new URLSearchParams(location.search).get("c"); // the conversation that led here
    if (asked) to.searchParams.set("c", asked);
    window.history.pushState({}, "", to.href);
    window.dispatchEvent(new PopStateEvent("popstate", { state: {} }));
  }
}
