"use strict";
// The page reads without this script. With it the lines can be searched and sorted, the arrow
// keys go through them, and what is shown is asked for again and again.
(() => {
  const search = document.getElementById("search"), count = document.getElementById("count"), status = document.getElementById("status");
  const every = 2000;
  const lines = () => [...document.querySelectorAll("tbody > tr")];

  function filter() {
    if (!search) return;
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0, all = 0;
    for (const tr of lines()) {
      const text = tr.textContent.toLowerCase();
      tr.hidden = !words.every(w => text.includes(w));
      all++;
      if (!tr.hidden) shown++;
    }
    count.textContent = words.length ? `${shown} of ${all} lines` : "";
  }

  const value = (tr, column) => {
    const cell = tr.cells[column];
    return cell.dataset.sort !== undefined ? Number(cell.dataset.sort) : cell.textContent.trim();
  };
  const order = new Map(); // of each table: the column, and whether it falls
  const compare = (a, b) => typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), undefined, { numeric: true });

  function sort(table) {
    const by = order.get(table.id);
    if (!by) return;
    [...table.tHead.rows[0].cells].forEach((th, i) => th.setAttribute("aria-sort", i === by.column ? (by.falls ? "descending" : "ascending") : "none"));
    const rows = [...table.tBodies[0].rows].map(tr => [value(tr, by.column), tr]);
    rows.sort((a, b) => (by.falls ? -1 : 1) * compare(a[0], b[0]));
    table.tBodies[0].append(...rows.map(r => r[1]));
  }

  for (const button of document.querySelectorAll("button.sort")) {
    button.disabled = false;
    button.addEventListener("click", () => {
      const th = button.closest("th"), table = th.closest("table"), was = order.get(table.id);
      order.set(table.id, { column: th.cellIndex, falls: was?.column === th.cellIndex && !was.falls });
      sort(table);
    });
  }

  // The arrow keys go from line to line; what cannot be followed can be read there.
  const shownLines = () => lines().filter(tr => !tr.hidden && tr.offsetParent !== null);
  const target = tr => tr.querySelector("a") ?? tr;
  function go(tr) {
    if (!tr) return;
    const to = target(tr);
    if (to === tr) tr.tabIndex = -1;
    to.focus();
  }
  document.addEventListener("keydown", ev => {
    if (ev.ctrlKey || ev.metaKey || ev.altKey) return;
    const line = ev.target.closest?.("tbody > tr");
    if (ev.key === "/" && search && ev.target !== search) {
      ev.preventDefault();
      search.focus();
      search.select();
    } else if (ev.key === "Escape" && search && search.value) {
      search.value = "";
      filter();
    } else if ((ev.key === "ArrowDown" || ev.key === "ArrowUp") && (line || ev.target === search)) {
      ev.preventDefault();
      const all = shownLines(), at = line ? all.indexOf(line) : -1, next = at + (ev.key === "ArrowDown" ? 1 : -1);
      if (next >= 0) go(all[next]);
      else search?.focus();
    }
  });
  if (search) {
    search.disabled = false;
    search.addEventListener("input", filter);
    search.form.addEventListener("submit", ev => ev.preventDefault());
  }

  // What has data-live is taken from the page as it is now; the rest, the search and the
  // order stay, and so does the place that has the focus.
  function renew(now) {
    const line = document.activeElement?.closest?.("tbody > tr"), table = line?.closest("table").id, key = line?.dataset.key;
    const live = [...document.querySelectorAll("[data-live]")], fresh = [...now.querySelectorAll("[data-live]")];
    if (live.length !== fresh.length) { // another page: it is gone, or has become another
      location.reload();
      return;
    }
    live.forEach((old, i) => old.replaceChildren(...[...fresh[i].childNodes].map(n => document.importNode(n, true))));
    document.querySelectorAll("section").forEach((s, i) => { s.className = now.querySelectorAll("section")[i]?.className ?? ""; });
    for (const t of document.querySelectorAll("table")) sort(t);
    filter();
    if (key !== undefined) go([...document.getElementById(table).tBodies[0].rows].find(tr => tr.dataset.key === key));
    document.body.dataset.mark = now.body.dataset.mark;
  }

  let heard = new Date();
  async function ask() {
    try {
      if (!document.hidden) {
        const state = await fetch("/api/state?mark=" + encodeURIComponent(document.body.dataset.mark));
        if (!state.ok) throw new Error(state.status);
        if (state.status !== 204) {
          const page = await fetch(location.href);
          renew(new DOMParser().parseFromString(await page.text(), "text/html"));
        }
        heard = new Date();
        status.textContent = "";
      }
    } catch {
      status.textContent = `There has been no answer since ${heard.toLocaleTimeString()}: this is how it was then.`;
    }
    setTimeout(ask, every);
  }
  if (document.body.dataset.mark) setTimeout(ask, every);
})();
