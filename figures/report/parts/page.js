// The page around the explorer: light and dark, tables that sort, tips on numbers, filters, printing.
"use strict";

const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const root = document.documentElement;

// What stands in the page as base64 of gzip, as an ArrayBuffer.
async function uncompressed(base64) {
  const bytes = Uint8Array.from(atob(base64.trim()), (sign) => sign.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
}

// -- Light and dark ------------------------------------------------------------------------------------------

function setTheme(theme) {
  root.dataset.theme = theme;
  document.dispatchEvent(new Event("colours"));
}

const dark = matchMedia("(prefers-color-scheme: dark)");
dark.addEventListener("change", () => setTheme(dark.matches ? "dark" : "light"));
document.getElementById("theme").addEventListener("click", () => setTheme(root.dataset.theme === "dark" ? "light" : "dark"));

// Paper is white, and what is folded on the screen is printed.
let before = null;
addEventListener("beforeprint", () => {
  const folded = all("details.open-in-print:not([open]), .statements details:not([open])");
  before = { theme: root.dataset.theme, folded };
  folded.forEach((one) => { one.open = true; });
  setTheme("light");
});
addEventListener("afterprint", () => {
  before.folded.forEach((one) => { one.open = false; });
  setTheme(before.theme);
});

// -- Tables that sort ----------------------------------------------------------------------------------------

const OTHER = { ascending: "descending", descending: "ascending" };

// A heading sorts one way, then the other, then as it was; rows without a number always come last.
function sortBy(table, column) {
  const heading = table.tHead.rows[0].cells[column];
  const first = heading.querySelector("button").dataset.first || "ascending";
  const now = heading.getAttribute("aria-sort");
  const next = now === "none" ? first : now === first ? OTHER[first] : "none";
  for (const cell of table.tHead.rows[0].cells) cell.setAttribute("aria-sort", "none");
  heading.setAttribute("aria-sort", next);
  const sign = next === "descending" ? -1 : 1;
  const value = (row) => (column < 2 ? row.cells[column].textContent.trim() : row.cells[column].dataset.value);
  const compare = (a, b) => {
    const [x, y] = [value(a), value(b)];
    if (x === undefined || y === undefined) return (x === undefined) - (y === undefined);
    return sign * (column < 2 ? x.localeCompare(y) : Number(x) - Number(y));
  };
  const rows = [...table.tBodies[0].rows].sort((a, b) => a.dataset.order - b.dataset.order);
  if (next !== "none") rows.sort(compare);
  table.tBodies[0].append(...rows);
  markBlocks(table, next === "none");
}

// A line above each printed method and above rows of these variants, as long as the rows are in their own order.
const TOGETHER = ["beyond", "control", "search"];

function markBlocks(table, inOrder) {
  let previous = null;
  for (const row of table.tBodies[0].rows) {
    if (row.hidden) continue;
    const block = TOGETHER.includes(row.dataset.variant) ? row.dataset.variant : row.dataset.method;
    row.toggleAttribute("data-block", inOrder && previous !== null && block !== previous);
    previous = block;
  }
}

for (const table of all("table[data-sortable]")) {
  [...table.tBodies[0].rows].forEach((row, i) => { row.dataset.order = i; });
  [...table.tHead.rows[0].cells].forEach((cell, column) => {
    cell.querySelector("button").addEventListener("click", () => sortBy(table, column));
  });
  markBlocks(table, true);
}

for (const button of all(".variants button")) {
  button.addEventListener("click", () => {
    const shown = button.getAttribute("aria-pressed") !== "true";
    button.setAttribute("aria-pressed", shown);
    for (const table of all("table[data-sortable]")) {
      for (const row of all(`tr[data-variant="${button.dataset.variant}"]`, table)) row.hidden = !shown;
      markBlocks(table, !table.querySelector("[aria-sort=ascending], [aria-sort=descending]"));
    }
  });
}

// -- Tips on numbers -----------------------------------------------------------------------------------------

const tip = document.getElementById("tip");

function showTip(cell) {
  tip.textContent = cell.dataset.tip;
  tip.hidden = false;
  cell.setAttribute("aria-describedby", "tip");
  const at = cell.getBoundingClientRect();
  const below = at.bottom + 6 + tip.offsetHeight < innerHeight;
  tip.style.left = `${Math.max(8, Math.min(at.left, innerWidth - tip.offsetWidth - 8))}px`;
  tip.style.top = `${below ? at.bottom + 6 : Math.max(8, at.top - tip.offsetHeight - 6)}px`;
}

function hideTip() {
  tip.hidden = true;
  all("[aria-describedby=tip]").forEach((cell) => cell.removeAttribute("aria-describedby"));
}

const STEPS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

// The next cell with a tip in this direction; one cell of a table is in the tab order, arrow keys move from it.
function neighbour(cell, [down, right]) {
  const rows = [...cell.closest("tbody").rows].filter((row) => !row.hidden);
  let [r, c] = [rows.indexOf(cell.parentElement) + down, cell.cellIndex + right];
  while (rows[r] && rows[r].cells[c]) {
    if (rows[r].cells[c].dataset.tip) return rows[r].cells[c];
    [r, c] = [r + down, c + right];
  }
  return null;
}

for (const table of all("table[data-sortable], table[data-grid]")) {
  const cells = all("[data-tip]", table);
  cells.forEach((cell, i) => { cell.tabIndex = i ? -1 : 0; });
  table.addEventListener("keydown", (event) => {
    if (event.key === "Escape") hideTip();
    if (!STEPS[event.key] || !event.target.dataset.tip) return;
    event.preventDefault();
    const next = neighbour(event.target, STEPS[event.key]);
    if (next) next.focus();
  });
  table.addEventListener("focusin", (event) => {
    if (!event.target.dataset.tip) return;
    cells.forEach((cell) => { cell.tabIndex = cell === event.target ? 0 : -1; });
    showTip(event.target);
  });
  table.addEventListener("focusout", hideTip);
  table.addEventListener("mouseover", (event) => {
    const cell = event.target.closest("[data-tip]");
    if (cell) showTip(cell); else hideTip();
  });
  table.addEventListener("mouseleave", hideTip);
}
addEventListener("scroll", () => { // what has the focus keeps its tip
  const cell = document.activeElement.closest("[data-tip]");
  if (cell) showTip(cell); else hideTip();
}, { passive: true });

// -- Filters of findings and claims --------------------------------------------------------------------------

for (const filter of all("[data-filter]")) {
  const list = document.getElementById(filter.dataset.filter);
  const [buttons, search] = [all("button", filter), filter.querySelector("input")];
  const apply = () => {
    const verdict = buttons.find((button) => button.getAttribute("aria-pressed") === "true").dataset.verdict;
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let any = false;
    for (const item of list.children) {
      const text = item.textContent.toLowerCase();
      item.hidden = (verdict && item.dataset.verdict !== verdict) || !words.every((word) => text.includes(word));
      any ||= !item.hidden;
    }
    list.nextElementSibling.hidden = any;
  };
  for (const button of buttons) {
    button.addEventListener("click", () => {
      buttons.forEach((one) => one.setAttribute("aria-pressed", one === button));
      apply();
    });
  }
  search.addEventListener("input", apply);
}

// -- Downloads -----------------------------------------------------------------------------------------------

for (const link of all("a[data-packed]")) {
  link.addEventListener("click", async (event) => {
    if (link.href.startsWith("blob:")) return; // unpacked before
    event.preventDefault();
    link.href = URL.createObjectURL(new Blob([await uncompressed(link.dataset.packed)]));
    link.click();
  });
}

for (const button of all(".downloads button")) { // of LaTeX, which is pasted into a paper
  button.addEventListener("click", async () => {
    const packed = button.closest("li").querySelector("[data-packed]").dataset.packed;
    try {
      await navigator.clipboard.writeText(new TextDecoder().decode(await uncompressed(packed)));
      button.textContent = "Copied";
    } catch { // not allowed: the file can be downloaded
      button.textContent = "Download it";
    }
  });
}

// -- Large figures, copied texts -----------------------------------------------------------------------------

const large = document.getElementById("large");
for (const button of all(".zoom")) {
  button.addEventListener("click", () => {
    const [own, shown] = [button.querySelector("img"), large.querySelector("img")];
    shown.src = own.src;
    shown.alt = own.alt;
    large.showModal();
  });
}
large.addEventListener("click", () => large.close()); // anywhere: there is nothing to do in it but look

for (const box of all(".copy")) {
  const button = box.querySelector("button");
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(box.querySelector("pre").textContent);
      button.textContent = "Copied";
    } catch { // a page that was opened from a disk may not write: what is selected can be copied by hand
      getSelection().selectAllChildren(box.querySelector("pre"));
      button.textContent = "Selected";
    }
  });
}
