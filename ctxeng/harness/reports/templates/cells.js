// The list of cells: filtered, sorted, a page at a time.

const PAGE_ROWS = 50;
const COLUMNS = [
  ["probe", "probe"], ["question", "question"], ["arm", "arm"], ["session", "session"],
  ["bucket", "position"], ["kind", "kind"], ["language", "language"], ["outcome", "outcome"],
  ["loss_stage", "lost"], ["value_in_context", "in prompt"], ["tokens", "tokens"],
];
const FILTERS = [
  ["arm", "Arm"], ["bucket", "Position"], ["kind", "Kind"], ["language", "Language"],
  ["outcome", "Outcome"], ["loss_stage", "Lost"],
];
const NOTHING = "\u0000none";
const shown = { rows: [], all: [], first: 0, by: null, isDown: false };

function readCells(index) {
  const { columns, facts } = index;
  const value = (name, i) => columns[name].values[columns[name].codes[i]];
  return index.fact.map((fact, i) => {
    const [session, probe, question, kind, language] = facts[fact];
    return {
      arm: value("arm", i), session, probe, question, kind, language,
      bucket: position(value("bucket", i)), outcome: value("outcome", i), loss_stage: value("loss_stage", i),
      value_in_context: { true: "yes", false: "no", null: "–" }[value("value_in_context", i)],
      tokens: index.tokens[i], replicate: index.replicate[i], path: index.path[i],
    };
  });
}

async function startCells() {
  shown.all = readCells(await unpack("index"));
  const form = document.getElementById("filters");
  for (const [name, label] of FILTERS) form.append(choice(name, label));
  form.append(make("label", {}, "Text", make("input", { name: "text", type: "search", placeholder: "probe, question, session" })));
  form.append(make("button", { type: "reset", class: "plain" }, "Clear"));
  form.addEventListener("input", refilter);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(refilter));
  form.hidden = false;
  headings();
  refilter();
  for (const jump of document.querySelectorAll("a.jump")) jump.addEventListener("click", () => listOf(jump.dataset));
}

function choice(name, label) {
  const values = [...new Set(shown.all.map((cell) => cell[name]))].sort((a, b) => String(a).localeCompare(String(b)));
  const options = values.map((value) => make("option", { value: value ?? NOTHING }, value === null ? "not lost" : words(value)));
  return make("label", {}, label, make("select", { name }, make("option", { value: "" }, "all"), ...options));
}

function listOf({ arm, bucket }) {
  const form = document.getElementById("filters");
  form.reset();
  form.elements.arm.value = arm;
  form.elements.bucket.value = position(bucket);
  refilter();
}

function refilter() {
  const { elements } = document.getElementById("filters");
  const wanted = FILTERS.map(([name]) => [name, elements[name].value]).filter(([, value]) => value !== "");
  const text = elements.text.value.trim().toLowerCase();
  shown.rows = shown.all.filter((cell) =>
    wanted.every(([name, value]) => (cell[name] ?? NOTHING) === value) &&
    (!text || `${cell.probe}\n${cell.question}\n${cell.session}`.toLowerCase().includes(text)));
  shown.first = 0;
  sortRows();
}

function sortRows() {
  const { by, isDown } = shown;
  if (by) shown.rows.sort((a, b) => compareKeys(a[by], b[by], isDown));
  drawRows();
}

function headings() {
  const row = make("tr");
  for (const [name, label] of COLUMNS) {
    const button = make("button", { type: "button" }, label);
    const heading = make("th", { scope: "col" }, button);
    button.addEventListener("click", () => {
      shown.isDown = shown.by === name && !shown.isDown;
      shown.by = name;
      for (const other of row.cells) other.removeAttribute("aria-sort");
      heading.setAttribute("aria-sort", shown.isDown ? "descending" : "ascending");
      sortRows();
    });
    row.append(heading);
  }
  document.getElementById("list").tHead.replaceChildren(row);
}

function drawRows() {
  const { rows, first } = shown;
  const right = rows.filter((cell) => cell.outcome === "recalled").length;
  const lost = rows.filter((cell) => cell.loss_stage !== null).length;
  document.getElementById("found").textContent =
    `${count(rows.length, "cell")}, ${right.toLocaleString("en")} recalled, ${lost.toLocaleString("en")} with a loss.`;
  const visible = rows.slice(first, first + PAGE_ROWS).map(drawRow);
  document.getElementById("list").tBodies[0].replaceChildren(...visible);
  drawPages();
}

function drawRow(cell) {
  const open = (event) => openPath(cell, event.currentTarget);
  const probe = cell.path ? make("button", { type: "button", class: "link", onclick: open }, cell.probe) : cell.probe;
  const row = make("tr", { class: cell.path ? "opens" : null },
    make("td", { class: "name", title: cell.probe }, probe), make("td", { class: "question" }, cell.question),
    make("td", { class: "name", title: cell.arm }, cell.arm), make("td", { class: "name", title: cell.session }, cell.session),
    make("td", {}, cell.bucket), make("td", {}, cell.kind), make("td", {}, cell.language ?? ""), make("td", {}, cell.outcome),
    make("td", {}, words(cell.loss_stage)), make("td", {}, cell.value_in_context),
    make("td", { class: "number" }, (cell.tokens ?? "").toLocaleString("en")));
  if (cell.path) row.addEventListener("click", (event) => event.target.closest("button") || probe.click());
  return row;
}

function drawPages() {
  const { rows, first } = shown;
  const turn = (label, to, isOff) => make("button", {
    type: "button", class: "plain", disabled: isOff, onclick: () => { shown.first = to; drawRows(); },
  }, label);
  const last = Math.min(first + PAGE_ROWS, rows.length);
  document.getElementById("pages").replaceChildren(
    turn("Previous", Math.max(0, first - PAGE_ROWS), first === 0),
    `${rows.length ? first + 1 : 0}–${last} of ${rows.length.toLocaleString("en")}`,
    turn("Next", last, last >= rows.length));
}
