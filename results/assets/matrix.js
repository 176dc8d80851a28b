"use strict";
// The page reads without this script. With it the squares tell their sentence at once,
// the arrow keys go from square to square, and one service can be looked at by itself.
(() => {
  const grid = document.querySelector("table.grid"), tip = document.getElementById("tip");
  if (!grid) return;
  const rows = [...grid.tBodies[0].rows];
  const heads = [...grid.tHead.rows[1].cells];
  const square = (r, c) => rows[r]?.cells[c + 1]?.firstElementChild ?? null;
  const cellOf = el => el?.closest?.("tbody td") ?? null;
  const shown = el => el && !el.hidden;

  // A title is slow to come and out of a keyboard's reach: the text moves to our own tip.
  for (const row of rows) {
    for (const td of row.cells) {
      const el = td.firstElementChild;
      if (td.tagName !== "TD" || !el) continue;
      el.dataset.text = el.title;
      el.setAttribute("aria-label", el.title);
      el.removeAttribute("title");
      el.tabIndex = -1;
    }
  }

  let current = null;
  function makeCurrent(el) {
    if (current) current.tabIndex = -1;
    current = el;
    if (el) el.tabIndex = 0;
  }
  const first = () => rows.filter(shown).flatMap(r => [...r.cells].filter(shown)).map(td => td.tagName === "TD" && td.firstElementChild).find(Boolean) ?? null;
  makeCurrent(first());

  let marked = [];
  function mark(el) {
    for (const m of marked) m.classList.remove("at", "partner");
    marked = [];
    const td = cellOf(el);
    if (!td) return;
    const row = td.parentElement, head = heads[td.cellIndex - 1];
    const add = (x, c) => { x.classList.add(c); marked.push(x); };
    add(row.cells[0], "at");
    add(head, "at");
    // The same lock and scenario with another fencing.
    heads.forEach((h, i) => {
      const partner = row.cells[i + 1];
      if (h !== head && h.dataset.scenario === head.dataset.scenario && partner.firstElementChild) { add(partner, "partner"); add(h, "at"); }
    });
  }

  function show(el) {
    mark(el);
    tip.replaceChildren();
    tip.hidden = !el;
    if (!el) return;
    el.dataset.text.split("\n").forEach((line, i) => {
      const p = document.createElement("p");
      p.textContent = line;
      if (i < 2) p.className = i ? "result " + el.classList[0] : "played";
      tip.append(p);
    });
    const at = el.getBoundingClientRect(), box = tip.getBoundingClientRect();
    const width = document.documentElement.clientWidth, height = window.innerHeight;
    const x = Math.max(8, Math.min(at.left, width - box.width - 8));
    const below = at.bottom + 8 + box.height < height;
    tip.style.left = x + window.scrollX + "px";
    tip.style.top = (below ? at.bottom + 8 : Math.max(8, at.top - box.height - 8)) + window.scrollY + "px";
  }
  const squareAt = e => cellOf(e.target)?.firstElementChild ?? null;
  // Only a mouse that moves: one that lies still must not take over from the keyboard.
  let over = null;
  grid.addEventListener("mousemove", e => {
    const el = squareAt(e);
    if (el !== over) show(over = el);
  });
  grid.addEventListener("mouseleave", () => show(over = null));
  grid.addEventListener("focusin", e => { const el = squareAt(e); if (el) { makeCurrent(el); show(el); } });
  grid.addEventListener("focusout", () => show(null));
  document.addEventListener("keydown", e => { if (e.key === "Escape") show(null); });

  // The next square in a direction: in the same row, or the nearest one of the next row
  // that has any.
  function next(el, key, far) {
    const td = cellOf(el), r = rows.indexOf(td.parentElement), c = td.cellIndex - 1;
    const inRow = r => heads.map((h, i) => i).filter(i => shown(heads[i]) && square(r, i));
    const across = inRow(r), i = across.indexOf(c);
    if (key === "ArrowRight") return square(r, across[i + 1]);
    if (key === "ArrowLeft") return square(r, across[i - 1]);
    if (key === "Home" && !far) return square(r, across[0]);
    if (key === "End" && !far) return square(r, across.at(-1));
    const down = key === "ArrowDown" || key === "Home";
    let order = rows.map((row, k) => k).filter(k => shown(rows[k]) && inRow(k).length);
    if (key === "Home") return square(order[0], inRow(order[0])[0]);
    if (key === "End") return square(order.at(-1), inRow(order.at(-1)).at(-1));
    order = down ? order.filter(k => k > r) : order.filter(k => k < r).reverse();
    const to = order.find(k => square(k, c)) ?? order[0];
    if (to === undefined) return null;
    return square(to, inRow(to).reduce((a, b) => Math.abs(b - c) < Math.abs(a - c) ? b : a));
  }
  grid.addEventListener("keydown", e => {
    if (!["ArrowRight", "ArrowLeft", "ArrowUp", "ArrowDown", "Home", "End"].includes(e.key) || e.altKey || e.metaKey) return;
    const el = squareAt(e);
    if (!el) return;
    e.preventDefault();
    const to = next(el, e.key, e.ctrlKey);
    if (!to) return;
    to.focus({preventScroll: true});
    to.scrollIntoView({block: "nearest", inline: "nearest"});
    show(to);
  });

  // One service: its locks, and the scenarios that were played on them.
  function filter(service) {
    const all = [...rows, ...document.querySelectorAll("table.list tr[data-service]")];
    for (const row of all) row.hidden = service !== "" && row.dataset.service !== service;
    for (const body of document.querySelectorAll("table.list tbody")) {
      const own = [...body.querySelectorAll("tr[data-service]")];
      body.hidden = own.length > 0 && own.every(r => r.hidden);
    }
    let columns = 0, panel = 0, left = 0;
    const panels = [...grid.tHead.rows[0].cells].slice(1);
    const widths = panels.map(() => 0);
    const sizes = panels.map(p => Number(p.dataset.size ??= p.colSpan));
    heads.forEach((head, i) => {
      if (left === 0) left = sizes[panel];
      head.hidden = !rows.some((r, k) => !r.hidden && square(k, i));
      for (const r of rows) r.cells[i + 1].hidden = head.hidden;
      if (!head.hidden) { columns++; widths[panel]++; }
      if (--left === 0) panel++;
    });
    panels.forEach((p, i) => { p.hidden = widths[i] === 0; p.colSpan = Math.max(1, widths[i]); });
    grid.style.setProperty("--columns", Math.max(1, columns));
    grid.style.setProperty("--rows", rows.filter(shown).length);
    if (!current || !shown(cellOf(current)) || !shown(current.closest("tr"))) makeCurrent(first());
    show(null);
  }
  const services = document.querySelector(".services");
  if (services) {
    services.hidden = false;
    services.addEventListener("change", e => filter(e.target.value));
    // A reload keeps what was chosen.
    const chosen = services.querySelector("input:checked");
    if (chosen?.value) filter(chosen.value);
  }
  document.querySelector(".keys").hidden = false;
})();
