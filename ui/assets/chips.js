// Filters: a chip each, with a menu of its options.
import { made } from "./made.js";

const SEARCHABLE = 12; // a longer menu has a box to narrow it
const SHOWN = 60;
const ORDERS = ["sort", "mode", "k"]; // how to search: these leave nothing out
const NARROW = "(max-width: 48rem)"; // as in search.css

// A search as it stands in an address, with some parameters changed; without a value they are left out.
export function changed(search, changes) {
  const params = new URLSearchParams(search);
  for (const [name, values] of Object.entries(changes)) {
    params.delete(name);
    values.forEach((value) => params.append(name, value));
  }
  return params;
}

// The folders that a folder is in, from the top.
const above = (path) => path.split("/").filter(Boolean).slice(0, -1).map((_, depth, names) => names.slice(0, depth + 1).join("/"));

export function chips({ change, signal }) {
  const element = made("div", { className: "cps-chips", role: "group", ariaLabel: "Filters" });
  let open, drawn;

  const close = (isBack = false) => {
    if (!open) return;
    open.menu.hidden = true;
    open.button.ariaExpanded = "false";
    if (isBack) open.button.focus();
    open = undefined;
  };
  const pick = (params) => { close(true); change(params); };

  const unfold = (button, chip, isPointed) => {
    const was = open?.button;
    close();
    if (was === button) return;
    const list = made("div", { className: "cps-options", role: "menu", ariaLabel: chip.name });
    const row = (way, number) => made("button", {
      type: "button", role: "menuitemcheckbox", title: way.hint, ariaChecked: String(chip.chosen.includes(number)),
      onclick: () => pick(way.params),
    }, made("span", {}, way.label), made("span", { className: "cps-count" }, way.beside));
    // A tree shows the folders at the top, those that are unfolded, and the way to the chosen one.
    const unfolded = new Set(chip.chosen.flatMap((number) => above(chip.options[number].hint)));
    const paths = chip.options.map((way) => way.hint);
    const branch = (way, number) => {
      const path = way.hint, isOpen = unfolded.has(path);
      const twig = made("button", {
        type: "button", role: "menuitem", className: "cps-twig", ariaLabel: `Folders in ${path}`, ariaExpanded: String(isOpen),
        onclick: () => {
          unfolded[isOpen ? "delete" : "add"](path);
          fill("");
          [...list.querySelectorAll(".cps-twig")].find((each) => each.ariaLabel === `Folders in ${path}`).focus();
        },
      });
      const element = made("div", { role: "none", className: "cps-branch" },
        paths.some((other) => other.startsWith(`${path}/`)) ? twig : made("span", { className: "cps-twig" }), row(way, number));
      element.style.paddingLeft = `${16 * above(path).length}px`;
      return element;
    };
    const fill = (words) => {
      if (chip.is_tree && !words) {
        const shown = (way) => above(way.hint).every((path) => unfolded.has(path) || !paths.includes(path));
        list.replaceChildren(...chip.options.map((way, number) => shown(way) && branch(way, number)).filter(Boolean));
        return;
      }
      const fits = chip.options.map((way, number) => [way, number])
        .filter(([way]) => `${way.label} ${way.hint}`.toLowerCase().includes(words.toLowerCase()));
      list.replaceChildren(...fits.slice(0, SHOWN).map(([way, number]) => row(way, number)));
    };
    const menu = made("div", { className: "cps-menu" });
    if (chip.options.length > SEARCHABLE) {
      const narrow = made("input", { type: "search", placeholder: `Find a ${chip.name.toLowerCase()}`,
        "aria-label": `Find a ${chip.name.toLowerCase()}`, oninput: () => fill(narrow.value) });
      menu.append(narrow);
    }
    if (chip.dates.length) menu.append(days(chip));
    menu.append(list);
    fill("");
    menu.onkeydown = (event) => {
      const stops = [...menu.querySelectorAll("input, button")];
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (event.key === "Escape") close(true);
      else if (step && event.target.type !== "date") {
        stops[(stops.indexOf(event.target) + step + stops.length) % stops.length].focus();
      } else return;
      event.preventDefault();
      event.stopPropagation();
    };
    open = { button, menu };
    button.ariaExpanded = "true";
    element.querySelector(".cps-menu")?.remove(); // the one before
    button.after(menu);
    const room = document.documentElement.clientWidth - button.getBoundingClientRect().left;
    menu.classList.toggle("cps-leftward", room < menu.offsetWidth + 16);
    menu.classList.toggle("cps-upward", window.innerHeight < menu.getBoundingClientRect().bottom);
    if (!isPointed || chip.options.length > SEARCHABLE) menu.querySelector("input, button").focus();
  };

  const days = (chip) => {
    const now = new URLSearchParams(drawnSearch);
    const fields = chip.dates.map((name, number) => made("label", {}, ["From", "Before"][number], made("input", {
      type: "date", value: now.get(name) ?? "",
      onchange: (event) => pick({ [name]: event.target.value ? [event.target.value] : [] }),
    })));
    return made("div", { className: "cps-days" }, ...fields);
  };
  let drawnSearch = "";

  window.addEventListener("pointerdown", (event) => {
    if (open && !open.menu.contains(event.target) && !open.button.contains(event.target)) close();
  }, { signal });
  element.addEventListener("focusout", (event) => {
    if (open && event.relatedTarget && !element.contains(event.relatedTarget)) close();
  });

  // In a narrow window the filters that hold stand above the others, which are one row to be scrolled.
  const narrow = window.matchMedia(NARROW);
  let holders = [];
  const arrange = () => {
    if (!narrow.matches) return element.replaceChildren(...holders);
    const isOn = (holder) => Boolean(holder.querySelector(".cps-on, .cps-clear"));
    const active = made("div", { className: "cps-active" }, ...holders.filter(isOn));
    const others = made("div", { className: "cps-others" }, ...holders.filter((holder) => !isOn(holder)));
    return element.replaceChildren(...[active, others].filter((row) => row.children.length));
  };
  narrow.addEventListener("change", () => { close(); arrange(); }, { signal });

  const update = (found, search) => {
    drawnSearch = search;
    const now = JSON.stringify(found);
    if (drawn === now || open) return; // a menu that is open stays
    drawn = now;
    const focused = document.activeElement.closest(".cps-holder"), had = element.contains(focused) && focused?.dataset.name;
    holders = found.map((chip) => {
      const button = made("button", {
        type: "button", className: chip.shown ? "cps-chip cps-on" : "cps-chip", ariaExpanded: "false",
        "aria-haspopup": "menu", disabled: !chip.options.length,
        onclick: (event) => unfold(button, chip, event.detail > 0),
      }, chip.shown || chip.name);
      const cross = chip.shown && made("button", {
        type: "button", className: "cps-cross", textContent: "×", ariaLabel: `Remove ${chip.shown}`,
        onclick: () => change(chip.clear),
      });
      const holder = made("div", { className: "cps-holder" }, button, cross || "");
      holder.dataset.name = chip.name;
      return holder;
    });
    const holding = found.filter((chip) => chip.shown && !Object.keys(chip.clear).some((name) => ORDERS.includes(name)));
    if (holding.length > 1) {
      const none = Object.fromEntries(holding.flatMap((chip) => Object.keys(chip.clear)).map((name) => [name, []]));
      const all = made("button", { type: "button", className: "cps-clear", textContent: "Clear filters", onclick: () => change(none) });
      const holder = made("div", { className: "cps-holder" }, all);
      holder.dataset.name = all.textContent;
      holders.push(holder);
    }
    arrange();
    if (had) (holders.find((holder) => holder.dataset.name === had) ?? holders[0]).querySelector("button").focus();
  };
  return { element, update };
}
