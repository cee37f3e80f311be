// Tables sort by the column whose heading is chosen: largest first, then smallest, numbers by value.

function makeSortable(table) {
  for (const [place, heading] of [...table.tHead.rows[0].cells].entries()) {
    const button = make("button", { type: "button" });
    button.append(...[...heading.childNodes].filter((node) => node.nodeName !== "SMALL"));
    heading.prepend(button);
    button.addEventListener("click", () => sortBy(table, place));
  }
}

function sortBy(table, place) {
  const heading = table.tHead.rows[0].cells[place];
  const isDown = heading.getAttribute("aria-sort") !== "descending";
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  heading.setAttribute("aria-sort", isDown ? "descending" : "ascending");
  const body = table.tBodies[0];
  const keyed = [...body.rows].map((row) => [sortKey(row.cells[place]), row]);
  keyed.sort(([a], [b]) => compareKeys(a, b, isDown));
  body.append(...keyed.map(([, row]) => row));
}

function sortKey(cell) {
  const text = cell.dataset.v ?? cell.textContent.trim();
  const number = /^[-+−]?[\d.,]+/.exec(text)?.[0].replaceAll(",", "").replace("−", "-");
  if (number !== undefined && !Number.isNaN(Number(number))) return Number(number);
  return text === "" || text === "–" ? null : text;
}

// What is missing stays below, whichever way the rest runs.
function compareKeys(a, b, isDown) {
  if (a === null || b === null) return (a === null) - (b === null);
  const both = typeof a === "number" && typeof b === "number";
  const order = both ? a - b : String(a).localeCompare(String(b));
  return isDown ? -order : order;
}
