"use strict";
// Search in the index, and nodes of the heat map: the texts of the node under the pointer, or of the one selected with the arrow keys.
(() => {
  const one = (selector, inside = document) => inside.querySelector(selector);
  const all = (selector, inside = document) => [...inside.querySelectorAll(selector)];
  const count = (number, noun) => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;

  const index = one(".index");
  if (index) {
    const find = one("#find"), list = one(".roots"), none = one(".none");
    const entries = all("li", list).map((item) => ({ item, text: item.textContent.toLowerCase(), target: one(one("a", item).hash) }));
    const links = () => entries.filter(({ item }) => !item.hidden).map(({ item }) => one("a", item));
    one(".find").hidden = false;

    const filter = () => {
      const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
      const only = one(".filter input:checked").id.replace("only-", "is-");
      for (const { item, text, target } of entries) {
        const matches = words.every((word) => text.includes(word)) && (only === "is-all" || item.classList.contains(only));
        item.hidden = !matches;
        if (target) target.hidden = !matches;
      }
      // A heading without its roots would say that there are none.
      for (const section of all("#path, #open, #placed")) {
        const inside = entries.filter(({ target }) => target && section.contains(target));
        section.hidden = inside.length > 0 && inside.every(({ target }) => target.hidden);
      }
      const found = links().length;
      none.hidden = found > 0;
      list.hidden = !found;
      one("#matches").textContent = `${count(found, "result")} of ${entries.length.toLocaleString("en")} shown`;
    };
    const clear = () => {
      find.value = "";
      one("#only-all").checked = true;
      filter();
    };
    find.addEventListener("input", filter);
    one(".filter").addEventListener("change", filter);
    one(".clear").addEventListener("click", () => { clear(); find.focus(); });
    index.addEventListener("keydown", (event) => {
      const shown = links();
      const at = shown.indexOf(document.activeElement);
      if (event.key === "Escape" && event.target === find) { clear(); event.preventDefault(); }
      if (event.key === "Enter" && event.target === find && shown.length) shown[0].click();
      if (event.key === "ArrowDown" && (event.target === find || at >= 0) && at + 1 < shown.length) { shown[at + 1].focus(); event.preventDefault(); }
      if (event.key === "ArrowUp" && at >= 0) { (shown[at - 1] || find).focus(); event.preventDefault(); }
    });
    // A browser can refuse to store anything for a file: the choice then holds as long as the page is open.
    const shortcut = one("#shortcut"), stored = "muster-shortcut";
    const kept = (act) => { try { return act(localStorage); } catch { return null; } };
    shortcut.checked = kept((storage) => storage.getItem(stored)) !== "off";
    shortcut.addEventListener("change", () => kept((storage) => storage.setItem(stored, shortcut.checked ? "on" : "off")));
    document.addEventListener("keydown", (event) => {
      if (!shortcut.checked || event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input[type=search], textarea, select")) return;
      event.preventDefault();
      find.focus();
      find.select();
    });
  }

  const heat = one(".heat");
  if (!heat) return;
  const tip = one("#tip"), told = one("#told");
  const tiles = all(".tiles i", heat);
  const rows = all("#cluster .shelf, #cluster .nodes tbody tr");
  const place = new Map(tiles.map((tile, number) => [tile, number]));
  const cursor = document.createElement("button");
  cursor.type = "button";
  cursor.className = "cursor";
  cursor.setAttribute("aria-label", `${heat.dataset.label}; ${heat.dataset.help}`);
  heat.append(cursor);
  let at = 0;

  const textsOf = (row) => {
    const area = one("h3 bdi, h4 bdi, h5 bdi, h6 bdi", row.closest(".rack"));
    const where = area && row.closest(".rack").id !== "area-0" ? [area.textContent] : [];
    const notes = all(".notes span, td [class^=note-]", row).map((note) => note.textContent);
    if (row.matches(".shelf")) {
      const facts = all("dl dt", row).map((name) => `${name.textContent}: ${name.nextElementSibling.textContent}`);
      return [one(".node", row).textContent, ...where, ...facts, ...notes];
    }
    const heads = [...row.closest("table").tHead.rows[0].cells].map((cell) => cell.textContent);
    const amounts = [...row.cells].slice(1, -1).map((cell, number) => `${cell.textContent} ${heads[number + 1]}`);
    return [row.cells[0].textContent, ...where, ...amounts, ...notes];
  };
  const put = () => {
    const tile = tiles[at].getBoundingClientRect(), box = heat.getBoundingClientRect();
    cursor.style.left = `${tile.left - box.left - heat.clientLeft}px`;
    cursor.style.top = `${tile.top - box.top - heat.clientTop}px`;
    cursor.style.width = `${tile.width}px`;
    cursor.style.height = `${tile.height}px`;
  };
  const show = (number) => {
    const texts = textsOf(rows[number]);
    tip.replaceChildren(...texts.map((text, line) => {
      const element = document.createElement(line ? "span" : "b");
      element.textContent = text;
      return element;
    }));
    tip.hidden = false;
    const around = tiles[number].getBoundingClientRect();
    const left = Math.min(around.left, document.documentElement.clientWidth - tip.offsetWidth - 8);
    const below = around.bottom + 8 + tip.offsetHeight < window.innerHeight;
    tip.style.left = `${Math.max(8, left) + window.scrollX}px`;
    tip.style.top = `${(below ? around.bottom + 8 : around.top - 8 - tip.offsetHeight) + window.scrollY}px`;
    return texts;
  };
  const hide = () => { tip.hidden = true; };
  const go = (number) => {
    at = Math.max(0, Math.min(tiles.length - 1, number));
    put();
    told.textContent = show(at).join(", ");
  };
  const open = (number) => {
    const row = rows[number], details = row.matches(".shelf") ? row : row.closest("details");
    details.open = true;
    hide();
    const target = row.matches(".shelf") ? one("summary", row) : row;
    if (target === row) row.tabIndex = -1;
    target.focus({ preventScroll: true });
    target.scrollIntoView({ block: "center" });
  };
  // The nearest tile above or below, whichever domain it is in.
  const vertical = (sign) => {
    const here = tiles[at].getBoundingClientRect();
    let best = at, least = Infinity;
    tiles.forEach((tile, number) => {
      const there = tile.getBoundingClientRect(), down = (there.top - here.top) * sign;
      const distance = down + 3 * Math.abs(there.left - here.left);
      if (down > here.height / 2 && distance < least) [best, least] = [number, distance];
    });
    return best;
  };
  const domain = (sign) => {
    const groups = all(".tiles", heat), now = groups.indexOf(tiles[at].parentElement);
    return place.get(groups[Math.max(0, Math.min(groups.length - 1, now + sign))].firstElementChild);
  };
  const keys = {
    ArrowRight: () => go(at + 1), ArrowLeft: () => go(at - 1), ArrowDown: () => go(vertical(1)), ArrowUp: () => go(vertical(-1)),
    PageDown: () => go(domain(1)), PageUp: () => go(domain(-1)), Home: () => go(0), End: () => go(tiles.length - 1), Escape: hide,
  };
  cursor.addEventListener("keydown", (event) => {
    if (!(event.key in keys)) return;
    event.preventDefault();
    keys[event.key]();
  });
  cursor.addEventListener("focus", () => go(at));
  cursor.addEventListener("blur", hide);
  cursor.addEventListener("click", () => open(at));
  heat.addEventListener("pointermove", (event) => {
    const number = place.get(event.target);
    if (number === undefined) hide(); else show(number);
  });
  heat.addEventListener("pointerleave", hide);
  heat.addEventListener("click", (event) => {
    const number = place.get(event.target);
    if (number !== undefined && event.pointerType === "mouse") open(number);
  });
  put();
  window.addEventListener("resize", put);
})();
