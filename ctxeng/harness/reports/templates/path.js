// The way of one fact, from what was said to what was answered, with its values marked.

let opener = null;

async function openPath(cell, from) {
  const dialog = document.getElementById("path");
  if (from) opener = from;
  const path = await pathAt(cell.path);
  dialog.replaceChildren(...drawPath(path, cell));
  dialog.scrollTop = 0;
  if (!dialog.open) dialog.showModal();
  dialog.querySelector("button.close").focus();
}

function closePath() {
  document.getElementById("path").close();
}

function drawPath(path, cell) {
  const head = make("div", { class: "dialog-head" },
    make("h2", { id: "path-title" }, path.question),
    make("button", { type: "button", class: "plain close", onclick: closePath, "aria-label": "Close" }, "Close"));
  const expected = path.expect.map((group) => group.join(" or ")).join("; ") || "nothing: never stated";
  return [
    head, otherArms(cell),
    pairs([
      ["Expected", expected], ["Must not say", path.forbid.join("; ")],
      ["Probe", `${path.probe_id} in ${path.session_id}, ${path.kind}`],
      ["Position", `${position(path.bucket)}, under ${path.arm} ${position(path.arm_bucket)}` +
        (path.flags.length ? ` (${path.flags.join(", ")})` : "")],
      ["Lost", path.loss_stage ? words(path.loss_stage) : "no"],
    ]),
    make("p", { class: "why" }, path.why),
    station("1 What was said", path.statement.map(said)),
    station("2 What the compactor was given and wrote", path.written.flatMap(written), "No artifact covers it."),
    station("3 What the search found", searched(path.search)),
    station("4 What was left out", path.left_out.filter((block) => block.is_of_fact || block.holds.length).map(leftOut), "Nothing of this fact."),
    station(`5 What the prompt held (${count(path.prompt_tokens, "token")}, ${holds(path.prompt_holds, path.expect)})`,
      [...path.prompt.map(block), hidden(path.prompt_blocks - path.prompt.length, "other block")]),
    station("6 What was answered", answered(path.answer)),
  ];
}

function otherArms(cell) {
  const same = shown.all.filter((one) => one.probe === cell.probe && one.session === cell.session && one.path);
  const buttons = same.map((one) => make("button", {
    type: "button", class: "plain", "aria-pressed": String(one === cell), onclick: () => openPath(one),
  }, `${one.arm}${one.replicate ? ` #${one.replicate}` : ""}: ${one.outcome}`));
  return make("div", { class: "arms", role: "group", "aria-label": "The same probe under every arm" }, ...buttons);
}

const pairs = (rows) => make("dl", {}, ...rows.filter(([, value]) => value).flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]));
const count = (n, what) => `${n.toLocaleString("en")} ${what}${n === 1 ? "" : "s"}`;
const hidden = (n, what) => (n > 0 ? make("p", { class: "bounds" }, `${count(n, what)} without it`) : null);
const range = (seqs) => (seqs.length > 1 ? `#${Math.min(...seqs)}–${Math.max(...seqs)}` : `#${seqs[0]}`);

function station(title, inside, nothing = "Nothing.") {
  const kept = inside.filter(Boolean);
  return make("section", { class: "station" }, make("h3", {}, title), ...(kept.length ? kept : [make("p", { class: "bounds" }, nothing)]));
}

// A text with its values between <mark>: marks are offsets in code points, as Python counts them.
function marked(text) {
  const letters = [...text.text];
  const pieces = [];
  let at = 0;
  for (const [from, to] of text.marks) {
    pieces.push(letters.slice(at, from).join(""), make("mark", {}, letters.slice(from, to).join("")));
    at = to;
  }
  return [...pieces, letters.slice(at).join("")];
}

function quote(label, text, isEvidence = false) {
  return make("div", { class: isEvidence ? "text evidence" : "text" },
    make("div", { class: "label" }, label), make("div", { class: "said" }, ...marked(text)));
}

const said = (message) => quote(
  `#${message.seq} ${message.speaker ?? message.role}${message.is_evidence ? ", evidence" : ""}`, message.text, message.is_evidence);

function holds(groups, expect) {
  if (!groups.length) return "lacks it";
  return expect && groups.length < expect.length ? `holds ${groups.length} of ${expect.length} values` : "holds it";
}

const FATES = {
  in_prompt: "in the prompt", over_budget: "cut by the budget", folded: "given way to the memory made from it",
  not_visible: "not visible yet", superseded: "superseded", not_loaded: "not loaded",
};

function written(artifact) {
  const judged = { true: ", in other words says the judge", false: ", nor in other words" }[artifact.states_it] ?? "";
  const label = `${artifact.kind} of #${artifact.from_seq}–${artifact.to_seq}, version ${artifact.version}, ${artifact.model}: ` +
    `${holds(artifact.text.holds)}${judged}; ${FATES[artifact.fate]}`;
  return [quote(label, artifact.text), given(artifact.given)];
}

function given(task) {
  if (!task) return null;
  const texts = [
    ...task.earlier.map((one) => quote(one.artifact_id, one.text)), ...task.messages.map(said),
    ...task.refused.map((text) => quote("not accepted", { text, marks: [] })),
  ];
  const others = hidden(task.handed - task.messages.length, "other message");
  return make("details", {}, make("summary", { class: "bounds" }, `what it was given: ${count(task.handed, "message")}`), ...texts, others);
}

function searched(search) {
  if (!search) return [make("p", { class: "bounds" }, "This arm does not search.")];
  if (!search.is_made) return [make("p", { class: "bounds" }, "The gate stayed shut: no sign that the question needs the past.")];
  const rank = search.evidence_rank ? `evidence at rank ${search.evidence_rank}` : "evidence not among them";
  const groups = search.groups.map(range).join(", ") || "none";
  return [
    make("p", {}, `${count(search.considered, "message")} scored, ${rank}. Handed over: ${groups}.`),
    make("details", {}, make("summary", { class: "bounds" }, "best matches"),
      ...search.matches.map((match) => quote(`${match.rank}. #${match.seq}, score ${match.score.toFixed(3)}`, match.text, match.is_evidence))),
  ];
}

const leftOut = (block) => make("p", {},
  `${words(block.kind)} ${block.artifact_ids.join(", ") || (block.seqs.length ? range(block.seqs) : "")}: ${words(block.reason)}, ` +
  `${count(block.tokens, "token")}, ${holds(block.holds)}`);

const block = (one) => quote(
  `${words(one.kind)}${one.seqs.length ? ` ${range(one.seqs)}` : ""}${one.is_shortened ? ", shortened" : ""}, ${count(one.tokens, "token")}`, one.text);

function answered(answer) {
  const decided = [answer.literal_verdict && `literally ${answer.literal_verdict} (${answer.literal_rule})`,
    answer.judge_verdict && `judge ${answer.judge_verdict}`, answer.error];
  return [
    make("p", {}, make("b", {}, answer.outcome), decided.filter(Boolean).map((one) => `; ${one}`).join("")),
    answer.text ? quote("answer", answer.text) : null,
  ];
}
