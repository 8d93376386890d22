"use strict";
// Shows the texts of the node under the pointer, or of the node selected with the arrow keys.  All texts are read from the tables.
(() => {
  const tip = document.getElementById("tip");
  const NS = "http://www.w3.org/2000/svg";

  const textsOf = (table, row) => {
    const heads = [...table.tHead.rows[0].cells].map((cell) => cell.textContent);
    return [...row.cells].map((cell, place) => {
      const notes = cell.children.length ? [...cell.children].map((note) => note.textContent).join("; ") : cell.textContent;
      return place === 0 ? notes : place === heads.length - 1 ? notes : `${notes} ${heads[place]}`;
    }).filter((text) => text.trim());
  };

  for (const box of document.querySelectorAll(".cells")) {
    const svg = box.querySelector("svg");
    const table = box.parentElement.querySelector("table");
    const rows = table.tBodies[0].rows;
    const columns = Number(box.dataset.columns);
    const size = svg.viewBox.baseVal;
    const stepX = size.width / columns, stepY = size.height / Math.ceil(rows.length / columns);
    const frame = document.createElementNS(NS, "rect");
    frame.setAttribute("class", "frame");
    frame.setAttribute("width", stepX - 1);
    frame.setAttribute("height", stepY - 1);
    frame.setAttribute("visibility", "hidden");
    svg.append(frame);
    const option = document.createElement("span");
    option.className = "vh";
    option.id = `${box.parentElement.id}-node`;
    option.setAttribute("role", "option");
    option.setAttribute("aria-selected", "true");
    option.setAttribute("aria-setsize", rows.length);
    box.append(option);
    box.tabIndex = 0;
    box.setAttribute("role", "listbox");
    box.setAttribute("aria-label", `${table.caption.textContent}; select a node with the arrow keys`);
    let at = 0;

    const show = (place) => {
      at = place;
      const texts = textsOf(table, rows[place]);
      option.textContent = texts.join(", ");
      option.setAttribute("aria-posinset", place + 1);
      box.setAttribute("aria-activedescendant", option.id);
      frame.setAttribute("x", (place % columns) * stepX);
      frame.setAttribute("y", Math.floor(place / columns) * stepY);
      frame.setAttribute("visibility", "visible");
      tip.replaceChildren(...texts.map((text, number) => {
        const line = document.createElement(number ? "span" : "b");
        line.textContent = text;
        return line;
      }));
      tip.hidden = false;
      const around = frame.getBoundingClientRect();
      const left = Math.min(around.left, document.documentElement.clientWidth - tip.offsetWidth - 8);
      const below = around.bottom + 6 + tip.offsetHeight < window.innerHeight;
      tip.style.left = `${Math.max(8, left) + window.scrollX}px`;
      tip.style.top = `${(below ? around.bottom + 6 : around.top - 6 - tip.offsetHeight) + window.scrollY}px`;
    };
    const hide = () => {
      tip.hidden = true;
      frame.setAttribute("visibility", "hidden");
    };

    svg.addEventListener("pointermove", (event) => {
      const area = svg.getBoundingClientRect();
      const column = Math.floor((event.clientX - area.left) / area.width * columns);
      const line = Math.floor((event.clientY - area.top) * size.height / area.height / stepY);
      const place = line * columns + column;
      if (column >= 0 && column < columns && place >= 0 && place < rows.length) show(place); else hide();
    });
    svg.addEventListener("pointerleave", hide);
    box.addEventListener("focus", () => show(at));
    box.addEventListener("blur", hide);
    box.addEventListener("keydown", (event) => {
      const steps = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns, Home: -rows.length, End: rows.length };
      if (event.key === "Escape") return hide();
      if (!(event.key in steps)) return;
      event.preventDefault();
      const next = at + steps[event.key];
      if (event.key === "Home" || event.key === "End") show(event.key === "Home" ? 0 : rows.length - 1);
      else if (next >= 0 && next < rows.length) show(next);
    });
  }
})();
