// Runs on every page before Streamlit's own scripts: where the server is, and what the keyboard lacks there.
window.__streamlit = { BACKEND_BASE_URL: location.origin + "/" };

(() => {
  // What is typed after a press on Search in the bar belongs to the box, which comes a moment later and takes it;
  // so does what is typed while Streamlit takes the box away and puts another in its place.
  const EARLY_MS = 3000;
  const isReplaced = () => window.lastBox && !window.lastBox.isConnected && location.pathname === "/";
  window.addEventListener("click", (event) => {
    const isSearch = event.target.closest?.('.st-key-pages a[href=""]');
    window.typedEarly = isSearch && { text: "", until: performance.now() + EARLY_MS };
  }, true);
  window.addEventListener("keydown", (event) => {
    if (isReplaced()) window.typedEarly ??= { text: "", until: performance.now() + EARLY_MS };
    const early = window.typedEarly;
    const isTyped = event.key.length === 1 || event.key === "Backspace" || event.key === "Enter";
    if (!early || performance.now() > early.until || !isTyped || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.matches("input, textarea")) return;
    if (event.key === "Enter" && !early.text) return; // it presses the link
    if (event.key === "Backspace") early.text = early.text.slice(0, -1);
    else if (event.key !== "Enter") early.text += event.key;
    event.preventDefault();
    event.stopPropagation();
  }, true);

  // A menu is drawn at the end of the page. The keyboard goes into it from its button, and back to it.
  const BODY = "[data-testid=stPopoverBody]", STOPS = "a[href], button, input, summary, select, textarea";
  const stopsOf = (body) => [...body.querySelectorAll(STOPS)]
    .filter((each) => each.tabIndex >= 0 && !each.disabled && each.checkVisibility({ visibilityProperty: true }));
  let menu; // the button of the menu that the keyboard is in
  const first = () => {
    const body = document.querySelector(BODY); // its parts arrive one by one
    return body && !body.querySelector("[data-testid=stSkeleton]") && stopsOf(body)[0];
  };
  const enter = (button, tries = 60) => {
    if (first()) { menu = button; first().focus(); }
    else if (tries) requestAnimationFrame(() => enter(button, tries - 1));
  };
  window.addEventListener("click", (event) => {
    const button = event.target.closest?.("[data-testid=stPopoverButton]");
    if (button && !event.detail && button.ariaExpanded !== "true") enter(button); // pressed by a key
  }, true);
  window.addEventListener("keydown", (event) => {
    const at = document.activeElement, body = at.closest(BODY);
    if (event.key === "Tab" && !event.shiftKey && at.matches("[data-testid=stPopoverButton][aria-expanded=true]") && first()) {
      event.preventDefault();
      enter(at);
    } else if (body && menu?.isConnected) {
      const stops = stopsOf(body);
      if (event.key === "Escape") setTimeout(() => menu.focus()); // when Streamlit has closed it
      if (event.key !== "Tab" || at !== (event.shiftKey ? stops[0] : stops.at(-1))) return;
      menu.focus(); // from where Tab goes on
      if (event.shiftKey) event.preventDefault();
    }
  }, true);
})();
