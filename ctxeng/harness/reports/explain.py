"""The path of one fact as a terminal shows it: at most 100 columns, values between ⟦ ⟧.

Transcript text is shown as data: no markup, no control characters.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ctxeng.core.text import numbered, printable, words
from ctxeng.harness.attribution.path import FactPath, Given, Match, Said, Written
from ctxeng.harness.reports.terminal import WIDTH
from ctxeng.harness.scoring.marks import Marked
from ctxeng.harness.stats.compare import position

_LOADED = ("in_prompt", "over_budget", "folded")
SHORT, LONG = 160, 480  # characters of a text that is only context, and of one that matters


@dataclass(frozen=True, slots=True, kw_only=True)
class Length:
    """How much of a text is shown: all of it, or excerpts around the values."""

    is_whole: bool

    def of(self, text: Marked, *, matters: bool) -> Marked:
        """Return the text or its excerpt."""
        return text if self.is_whole else text.excerpt(LONG if matters else SHORT)


def print_overview(paths: Sequence[FactPath], out: Console) -> None:
    """Print one line for each arm: what was answered, where it was lost."""
    table = Table(box=None, padding=(0, 2, 0, 0), title_justify="left", title="Every arm")
    for name in ("arm", "replicate", "position", "in context", "outcome", "lost"):
        table.add_column(name, overflow="fold")
    for path in paths:
        present = {True: "yes", False: "no", None: "-"}[path.value_in_context]
        table.add_row(
            Text(printable(path.arm)),
            str(path.replicate),
            position(path.arm_bucket),
            present,
            path.answer.outcome,
            words(path.loss_stage or "-"),
        )
    out.print(table)


def print_path(path: FactPath, out: Console, *, is_whole: bool = False) -> None:
    """Print one path, station by station."""
    length = Length(is_whole=is_whole)
    _head(path, out)
    _title(out, "1 The statement, in its surroundings")
    _messages(path.statement, out, length)
    _title(out, "2 What the compactor was given and wrote")
    _writings(path, out, length)
    _title(out, "3 The search")
    _search(path, out, length)
    _title(out, "4 Loaded and left out")
    _left_out(path, out)
    _title(out, "5 The prompt")
    _prompt(path, out, length)
    _title(out, "6 The answer and the verdict")
    _answer(path, out, length)


def _head(path: FactPath, out: Console) -> None:
    expected = "; ".join(" or ".join(group) for group in path.expect) or "nothing: never stated"
    flags = f" ({', '.join(path.flags)})" if path.flags else ""
    _line(out, f"{path.probe_id} in {path.session_id}, arm {path.arm}, replicate {path.replicate}")
    _line(out, f"Question: {path.question}")
    _line(out, f"Expected: {expected}")
    if path.forbid:
        _line(out, f"Must not say: {'; '.join(path.forbid)}")
    places = f"{position(path.bucket)}, under this arm {position(path.arm_bucket)}"
    _line(out, f"Position: {places}{flags}; asked after message {path.as_of}")
    _line(out, f"Lost: {words(path.loss_stage or 'no')}. {path.why}", style="bold")


def _writings(path: FactPath, out: Console, length: Length) -> None:
    if not path.written:
        _line(out, "No artifact covers it.", indent=2)
    turns = _turns(path.written)
    for written in path.written:
        said = "holds " + _groups(written.text.holds, path) if written.text.holds else "lacks it"
        told = {True: "; in other words, says the judge", False: "; nor in other words", None: ""}
        _line(
            out,
            f"{written.artifact_id} (messages {written.from_seq}-{written.to_seq}, "
            f"{written.model}): {said}{told[written.states_it]}; {_fate(written)}",
            indent=2,
            style="bold",
        )
        if length.is_whole or written in turns:
            _given(written.given, out, length)
        if length.is_whole or written in turns or written.fate in _LOADED:
            _text(out, length.of(written.text, matters=True), label="wrote: ", indent=4)


def _turns(written: Sequence[Written]) -> list[Written]:
    """Return the first artifact of each kind, and those that gained or lost a value."""
    kept = []
    for kind in dict.fromkeys(w.kind for w in written):
        chain = [w for w in written if w.kind == kind]
        kept += chain[:1]
        kept += [b for a, b in pairwise(chain) if bool(a.text.holds) != bool(b.text.holds)]
    return kept


def _fate(written: Written) -> str:
    if written.fate == "not_visible":
        return f"not visible before message {written.visible_from_seq}"
    return {
        "in_prompt": "in the prompt",
        "over_budget": "cut by the budget",
        "folded": "given way to the memory made from it",
        "superseded": "superseded",
        "not_loaded": "not loaded",
    }[written.fate]


def _given(given: Given | None, out: Console, length: Length) -> None:
    if given is None:
        _line(out, "given: not recorded", indent=4)
        return
    for earlier in given.earlier:
        _text(
            out,
            length.of(earlier.text, matters=False),
            label=f"given {earlier.artifact_id}: ",
            indent=4,
        )
    shown = [m for m in given.messages if length.is_whole or m.text.holds or m.is_evidence]
    rest = sorted({m.seq for m in given.messages} - {m.seq for m in shown})
    if rest:
        _line(out, f"given: {_others(rest, given)}", indent=4)
    for message in shown:
        overlap = " (overlap)" if message.seq < given.from_seq else ""
        cut = " (cut to fit)" if message.seq in given.cut_seqs else ""
        label = f"given #{message.seq} {message.speaker or message.role}{overlap}{cut}: "
        _text(out, length.of(message.text, matters=True), label=label, indent=4)
    for answer in given.refused:
        _text(out, length.of(Marked(text=answer), matters=False), label="not accepted: ", indent=4)


def _others(seqs: Sequence[int], given: Given) -> str:
    """Return how many messages were handed over beside those shown, those of the overlap apart."""
    before = [seq for seq in seqs if seq < given.from_seq]
    told = []
    if inside := len(seqs) - len(before):
        told.append(f"{numbered(inside, 'other message')} of {given.from_seq}-{given.to_seq}")
    if before:
        told.append(f"{numbered(len(before), 'message')} of overlap ({_range(before)})")
    return ", ".join(told)


def _search(path: FactPath, out: Console, length: Length) -> None:
    search = path.search
    if search is None:
        _line(out, "This arm does not search.", indent=2)
        return
    if not search.is_made:
        _line(out, "The gate stayed shut: no sign that the question needs the past.", indent=2)
        return
    rank = search.evidence_rank
    place = f"evidence at rank {rank}" if rank else "evidence not among them"
    _line(
        out,
        f"Made ({', '.join(search.reasons)}); {numbered(search.considered, 'message')} scored, "
        f"{place}.",
        indent=2,
    )
    for match in search.matches:
        _text(out, length.of(match.text, matters=False), label=_scored(match), indent=2)
    groups = ", ".join(_range(group) for group in search.groups) or "none"
    _line(out, f"Message groups handed over: {groups}", indent=2)


def _scored(match: Match) -> str:
    terms = ", ".join(f"{name} {value:.2f}" for name, value in match.terms.items())
    mark = " EVIDENCE" if match.is_evidence else ""
    return f"{match.rank:>3}. {match.score:.3f} ({terms}) #{match.seq}{mark}: "


def _left_out(path: FactPath, out: Console) -> None:
    if not path.left_out:
        _line(out, "Nothing.", indent=2)
    own = [block for block in path.left_out if block.is_of_fact or block.holds]
    for block in own:
        held = f"holds {_groups(block.holds, path)}" if block.holds else "lacks it"
        what = ", ".join(block.artifact_ids) or f"messages {_range(block.seqs)}"
        _line(
            out,
            f"{words(block.kind)} {what}: {words(block.reason)}, "
            f"{numbered(block.tokens, 'token')}, {held}",
            indent=2,
        )
    rest = [block for block in path.left_out if block not in own]
    if rest:
        tokens = sum(block.tokens for block in rest)
        _line(out, f"{numbered(len(rest), 'other block')}, {numbered(tokens, 'token')}", indent=2)


def _prompt(path: FactPath, out: Console, length: Length) -> None:
    budget = f"{path.budget_tokens:,}" if path.budget_tokens is not None else "none"
    held = f"holds {_groups(path.prompt_holds, path)}" if path.prompt_holds else "lacks it"
    _line(out, f"{numbered(path.prompt_tokens, 'token')}, budget {budget}; {held}.", indent=2)
    evidence = {said.seq for said in path.statement if said.is_evidence}
    skipped = 0
    for block in path.prompt:
        near = bool(block.text.holds) or bool(evidence & set(block.seqs))
        if not (near or length.is_whole or block.kind == "question"):
            skipped += 1
            continue
        cut = " (shortened)" if block.is_shortened else ""
        where = f" {_range(block.seqs)}" if block.seqs else ""
        label = f"{words(block.kind)}{where}{cut}, {numbered(block.tokens, 'token')}: "
        _text(out, length.of(block.text, matters=False), label=label, indent=2)
    if skipped:
        _line(out, f"{numbered(skipped, 'other block')} without it (--full shows them)", indent=2)


def _answer(path: FactPath, out: Console, length: Length) -> None:
    answer = path.answer
    if answer.text is not None:
        _text(out, length.of(answer.text, matters=True), label="Answer: ", indent=2)
    _line(out, f"Outcome: {answer.outcome}, decided by {answer.judged_by or 'nobody'}", indent=2)
    if answer.literal_verdict:
        _line(out, f"Literal: {answer.literal_verdict} ({answer.literal_rule})", indent=2)
    if answer.judge_verdict:
        _line(out, f"Judge: {answer.judge_verdict}", indent=2)
    if answer.error:
        _line(out, f"Error: {answer.error}", indent=2)


def _messages(messages: Iterable[Said], out: Console, length: Length) -> None:
    shown = list(messages)
    if not shown:
        _line(out, "Never stated, or its messages are not stored.", indent=2)
    for message in shown:
        mark = ">" if message.is_evidence else " "
        label = f"{mark} #{message.seq} {message.speaker or message.role}: "
        _text(out, length.of(message.text, matters=message.is_evidence), label=label, indent=2)


def _groups(holds: Sequence[int], path: FactPath) -> str:
    return ", ".join(path.expect[i][0] for i in holds)


def _range(seqs: Sequence[int]) -> str:
    return str(seqs[0]) if len(seqs) == 1 else f"{seqs[0]}-{seqs[-1]}"


def _title(out: Console, title: str) -> None:
    out.print()
    out.print(Text(title, style="bold underline"))


def _line(out: Console, text: str, *, indent: int = 0, style: str = "") -> None:
    out.print(Padding(Text(printable(text), style=style), (0, 0, 0, indent)))


def _text(out: Console, text: Marked, *, label: str, indent: int) -> None:
    """Print a text behind its label, values between ⟦ ⟧ so that no colour is needed."""
    shown = Text(printable(label))
    for piece, is_value in text.pieces():
        if is_value:
            shown.append(f"⟦{printable(piece)}⟧", style="bold reverse")
        else:
            shown.append(printable(piece))
    out.print(Padding(shown, (0, 0, 0, indent)))


def console() -> Console:
    """Return a console of the width of every report."""
    return Console(width=WIDTH, highlight=False, soft_wrap=False)
