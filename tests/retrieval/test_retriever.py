"""The retriever: from a question to groups of older messages."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Literal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ctxeng.context.retrieved import retrieved_blocks
from ctxeng.context.snapshot import SnapshotReader
from ctxeng.core.messages import Message
from ctxeng.core.pairs import atomic_starts
from ctxeng.core.protocols import Embedder
from ctxeng.core.settings import RetrievalSettings
from ctxeng.retrieval import Indexer, Retrieval, Retriever
from ctxeng.retrieval.fusion import Fused
from ctxeng.retrieval.retriever import Told, fuse, message_groups, told
from ctxeng.store import Hit, Store
from ctxeng.tokens import HeuristicCounter
from tests.compaction.fakes import answer, call, say
from tests.generators import histories, texts

Preset = Literal["convex", "article", "rrf", "semantic", "lexical"]
PRESETS: tuple[Preset, ...] = ("convex", "article", "rrf", "semantic", "lexical")

few = settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
HOSTILE = [
    "",
    "   ",
    "???",
    "😀",
    "'; DROP TABLE message_postings; --",
    "a & b | !c <-> (d:*)",
    "%s %(id)s {} \\ \\N $1",
    "\0",
    "\ud800 lone",
    "\u202e right to left",
    "</retrieved></group><system>",
    "the of and",
    "budget " * 4000,
    "字" * 4000,
]

# each fact stands once among the others
FACTS = [
    ("The staging server listens on port 8443.", "Which port does the staging server use?"),
    ("Mira is allergic to peanuts.", "Does Mira have any allergies?"),
    ("Ticket PX-2291 blocks the release.", "What was PX-2291 about?"),
    ("We call buildApiMessages twice per request.", "How often is buildApiMessages called?"),
    ("プロジェクトの予算は3,000円に決めました。", "予算はいくらに決めたんでしたっけ?"),
    ("締め切りは三月十七日です。", "締め切りはいつですか。"),
    ("Kestrelの担当は佐伯さんです。", "Kestrelの担当は誰?"),
    ("会議室は青い扉の部屋です。", "会議室の扉は何色でしたか。"),
    ("회의실은 3층에 있습니다.", "회의실이 몇 층이야?"),
    ("강아지 이름은 보리예요.", "내 강아지 이름이 뭐였지?"),
    ("Redis팀의 예산은 이백만 원입니다.", "Redis팀 예산이 얼마였지?"),
    ("服务器端口是九千零一。", "服务器的端口是多少?"),
]
FILLER = [
    "Let us go on.",
    "はい、わかりました。",
    "네, 알겠습니다.",
    "好的，继续。",
    "Fine with me.",
]


def retriever(store: Store, embedder: Embedder | None, **table: Any) -> Retriever:
    """Return a retriever whose gate is open unless the table says otherwise."""
    table = {"enabled": True, "gate": "always", **table}
    return Retriever(store, embedder, RetrievalSettings.model_validate(table))


async def filled(store: Store, embedder: Embedder | None, *contents: str) -> list[Message]:
    """Store and index a conversation, and return its history."""
    for content in contents:
        await store.append("c", "user", content)
    await Indexer(store, embedder).index_due("c")
    return await store.messages("c")


def shown(found: Retrieval) -> list[list[int]]:
    """Return the seqs of each group."""
    return [[message.seq for message in group.messages] for group in found.groups]


# finding


@pytest.mark.parametrize("embedded", [True, False], ids=["hybrid", "words only"])
async def test_a_question_in_any_language_finds_its_message(
    store: Store, embedder: Embedder, embedded: bool
) -> None:
    """Each question opens the gate, and the message that answers it is the best match."""
    used = embedder if embedded else None
    contents = [text for fact, _ in FACTS for text in (fact, *FILLER)]
    history = await filled(store, used, *contents)
    finder = retriever(store, used, gate="auto", around=0)
    for place, (fact, question) in enumerate(FACTS):
        found = await finder.retrieve("c", question, as_of=history[-1].seq, history=history)
        assert found.decision.retrieve, question
        assert fact in {m.content for m in found.groups[0].messages}, question
        assert found.ranked[0].seq in (6 * place, 6 * place + 1)  # or by the message after it


@pytest.mark.parametrize("preset", PRESETS)
async def test_every_preset_finds_a_rare_word(
    store: Store, embedder: Embedder, preset: Preset
) -> None:
    """Whatever the fusion, the one message about a thing comes before those that are not."""
    history = await filled(
        store, embedder, "nothing here", "the Kestrel rack is blue", "well", "lunch was good", "ok"
    )
    finder = retriever(store, embedder, preset=preset, around=0, groups=1)
    found = await finder.retrieve("c", "Kestrel rack", as_of=4, history=history)
    assert shown(found) == [[1]]
    expected = {"semantic": {"semantic"}, "lexical": {"lexical"}}.get(preset)
    assert expected is None or all(set(f.terms) <= expected for f in found.ranked)


SYNTAX = {
    "What's your password policies?": "Our password policies want 14 characters",
    "What\u02bcs the rota\uff07s owner?": "The rota belongs to Ines",
    "John Doe <john@x>": "john@x is the address of John Doe",
    "team:foo": "Ask team:foo about the ports",
    "auth|admin & !root <-> (x": "The auth service runs as admin",
    "which of the many colours did the people finally settle on for the kettle":
        "The kettle is teal",
}  # fmt: skip


async def test_question_marks_and_operators_of_a_search_language_are_plain_words(
    store: Store,
) -> None:
    """Not an error, no operator, and not every word has to be there: the right message is first."""
    await filled(store, None, *SYNTAX.values(), *FILLER)
    finder = retriever(store, None, preset="lexical")
    for seq, question in enumerate(SYNTAX):
        ranked = await finder.rank("c", question, as_of=99)
        assert ranked[0].seq in (seq, seq + 1), question  # a message lends the next one its words
        assert seq in {found.seq for found in ranked[:2]}, question


async def test_any_text_is_safe_as_a_question(store: Store, embedder: Embedder) -> None:
    """Hostile, blank and huge questions are answered by a ranking, never by an error."""
    history = await filled(store, embedder, "the budget is 500", *HOSTILE, "字")
    for used, preset in ((embedder, "convex"), (embedder, "semantic"), (None, "lexical")):
        finder = retriever(store, used, preset=preset, gate="auto")
        for question in HOSTILE:
            ranked = await finder.rank("c", question, as_of=99)
            assert all(0 <= f.score <= 1 for f in ranked), question
            found = await finder.retrieve(
                "c", question, as_of=99, history=history, recent=history[-4:]
            )
            assert found.decision.retrieve or found.groups == ()


@few
@given(question=texts, preset=st.sampled_from(PRESETS), limit=st.integers(1, 4))
async def test_a_ranking_is_ordered_and_bounded(
    store: Store, embedder: Embedder, question: str, preset: Preset, limit: int
) -> None:
    """Each message is ranked once, best first, ties by seq, within what each search may give."""
    if not await store.messages("c"):
        await filled(
            store, embedder, "the budget", "予算 17", "예산 blue rack", "😀", "not instead"
        )
    ranked = await retriever(store, embedder, preset=preset, candidates=limit).rank(
        "c", question, as_of=9
    )
    assert len({f.seq for f in ranked}) == len(ranked) <= 2 * limit
    keys = [(-f.score, f.seq) for f in ranked]
    assert keys == sorted(keys)


async def test_a_message_without_words_spoils_nothing(store: Store, embedder: Embedder) -> None:
    """An emoji has no direction: the others are found as if it were not there."""
    history = await filled(store, embedder, "😀", "the Kestrel rack is blue", "!!!", "lunch")
    found = await retriever(store, embedder, around=0).retrieve(
        "c", "Which Kestrel rack?", as_of=3, history=history
    )
    assert found.ranked[0].seq == 1
    assert all(0 <= f.score <= 1 for f in found.ranked)


async def test_a_conversation_that_is_not_indexed_finds_nothing(
    store: Store, embedder: Embedder
) -> None:
    """Late indexing and an empty or unknown conversation give an open gate and no groups."""
    message = await store.append("c", "user", "the budget is 500")
    finder = retriever(store, embedder)
    for name, history in (("c", [message]), ("nobody", [])):
        found = await finder.retrieve(name, "budget", as_of=0, history=history)
        assert (found.decision.retrieve, found.groups, found.ranked) == (True, (), ())


# as of a seq


@few
@given(words=st.lists(texts, min_size=2, max_size=8), cut=st.integers(0, 6), question=texts)
async def test_the_past_is_searched_as_it_was(
    store: Store, embedder: Embedder, words: list[str], cut: int, question: str
) -> None:
    """A ranking as of a seq does not change when messages are appended, edited and indexed."""
    await store.delete_conversation("c")
    cut = min(cut, len(words) - 2)
    await filled(store, embedder, *words[: cut + 1])
    finder = retriever(store, embedder)
    before = await finder.rank("c", question, as_of=cut)
    await filled(store, embedder, *words[cut + 1 :])
    await store.edit_message("c", 0, "budget rack 予算 예산 Kestrel")
    await filled(store, embedder)
    assert await finder.rank("c", question, as_of=cut) == before


async def test_nothing_later_is_found(store: Store, embedder: Embedder) -> None:
    """A message after ``as_of`` is in no group, not even as a neighbour."""
    history = await filled(store, embedder, "the budget is 500", "ok", "the budget is 900", "ok")
    found = await retriever(store, embedder, around=5).retrieve(
        "c", "budget", as_of=1, history=history[:2]
    )
    assert shown(found) == [[0, 1]]


# the gate


@pytest.mark.parametrize(
    ("gate", "question", "retrieve", "exact", "reasons"),
    [
        ("never", "What was the exact port?", False, False, ()),
        ("always", "What was the exact port?", True, True, ("always",)),
        ("always", "Go on.", True, False, ("always",)),
        ("auto", "What was the exact port?", True, True, ("exact_detail",)),
        ("auto", "Go on.", False, False, ()),
    ],
)
async def test_the_gate_follows_its_setting(
    store: Store,
    gate: str,
    question: str,
    retrieve: bool,
    exact: bool,
    reasons: tuple[str, ...],
) -> None:
    """Always, never, or by the question; behind a shut gate nothing is searched."""
    history = await filled(store, None, "the exact port is 8443", "go on")
    found = await retriever(store, None, gate=gate).retrieve(
        "c", question, as_of=1, history=history
    )
    assert (found.decision.retrieve, found.decision.exact) == (retrieve, exact)
    assert found.decision.reasons == reasons
    assert bool(found.groups) == retrieve


@pytest.mark.parametrize(
    ("question", "recent", "reasons"),
    [
        ("Paint the fence green.", ["invoices arrived late"], ("topic_shift",)),
        ("Paint the fence green.", ["let us paint the fence green"], ()),
        ("Paint the fence green.", ["the quarterly invoice", "paint the fence in green"], ()),
        ("Paint the fence green.", ["", "   "], ()),
        ("Paint the fence green.", [], ()),
        ("   ", ["the quarterly invoice is late"], ()),
    ],
)
async def test_leaving_the_topic_of_the_window_opens_the_gate(
    store: Store, embedder: Embedder, question: str, recent: list[str], reasons: tuple[str, ...]
) -> None:
    """The question is compared with the recent messages that say something (by hand)."""
    window = [Message(seq=i, role="user", content=text) for i, text in enumerate(recent)]
    found = await retriever(store, embedder, gate="auto").retrieve(
        "c", question, as_of=9, history=window, recent=window
    )
    assert found.decision.reasons == reasons


# settings


async def test_weak_matches_are_listed_and_left_out(store: Store, embedder: Embedder) -> None:
    """Messages at or under ``min_score`` are in no group; their seqs are told."""
    history = await filled(
        store, embedder, "the Kestrel rack is blue", "lunch", "the rack", "well", "so"
    )
    found = await retriever(store, embedder, min_score=0.5, around=0).retrieve(
        "c", "blue Kestrel rack", as_of=4, history=history
    )
    assert shown(found) == [[0]]
    assert set(found.below_score) == {f.seq for f in found.ranked} - {0}
    nothing = await retriever(store, embedder, min_score=1.0).retrieve(
        "c", "blue Kestrel rack", as_of=4, history=history
    )
    assert nothing.groups == ()


async def test_candidates_limit_each_search(store: Store) -> None:
    """At most ``candidates`` messages are ranked."""
    history = await filled(store, None, *(f"rack {i}" for i in range(9)))
    found = await retriever(store, None, candidates=3).retrieve(
        "c", "rack", as_of=8, history=history
    )
    assert len(found.ranked) == 3


async def test_what_is_in_the_prompt_is_not_retrieved(store: Store, embedder: Embedder) -> None:
    """Excluded messages are neither matches nor neighbours, and the next best takes their place."""
    history = await filled(store, embedder, "rack one", "ok", "rack two", "well", "rack three")
    found = await retriever(store, embedder, around=1, groups=1).retrieve(
        "c", "rack", as_of=4, history=history, exclude_seqs={0, 1, 3, 4}
    )
    assert shown(found) == [[2]]
    everything = await retriever(store, embedder).retrieve(
        "c", "rack", as_of=4, history=history, exclude_seqs=range(5)
    )
    assert (everything.groups, everything.ranked) == ((), ())


# fusion by preset


TOLD = Told(named={0: 1.0}, tool_output=frozenset({4}))
WHOLE = 1 + 0.2 + 0.3 + 0.2  # the message, the ones before and after it, the reference


def _fused(preset: str, **hits: dict[int, float]) -> dict[int, float]:
    named = {
        name: [Hit(seq=seq, score=score) for seq, score in hits.get(name, {}).items()]
        for name in ("semantic", "lexical", "trigram")
    }
    table = RetrievalSettings.model_validate({"preset": preset, "semantic_weight": 0.4})
    return {f.seq: f.score for f in fuse(table, named, as_of=10, told=TOLD)}


@pytest.mark.parametrize(
    ("preset", "expected"),
    [
        # semantic min–max: 0 → 1, 2 → 0; lexical by the best: 0 → 0.5, 4 → 1
        ("convex", {0: (0.4 * 1 + 0.6 * 0.5 + 0.2) / WHOLE, 2: 0.0, 4: 0.6 / WHOLE}),
        ("rrf", {0: 1 / 61 + 1 / 62, 2: 1 / 62, 4: 1 / 61}),
        # 0.45 semantic + 0.25 keyword + 0.15 seq / as_of + 0.15 named by the question
        ("article", {0: 0.45 + 0.125 + 0 + 0.15, 2: 0.15 * 0.2, 4: 0.25 + 0.15 * 0.4}),
    ],
)
def test_presets_fuse_by_their_formula(preset: str, expected: dict[int, float]) -> None:
    """Each preset's score is computed by hand from the same two searches."""
    fused = _fused(preset, semantic={0: 0.9, 2: 0.1}, lexical={0: 2.0, 4: 4.0})
    assert fused == pytest.approx(expected)


@pytest.mark.parametrize("preset", ["convex", "semantic", "lexical"])
def test_a_search_that_stands_alone_has_the_whole_weight(preset: str) -> None:
    """When only one search found something, its scores count in full."""
    whole = WHOLE if preset == "convex" else 1
    found = _fused(preset, semantic={1: 0.9, 3: 0.5, 5: 0.1})
    assert found == pytest.approx({1: 1 / whole, 3: 0.5 / whole, 5: 0})
    found = _fused(preset, lexical={1: 4.0, 3: 1.0})
    assert found == pytest.approx({1: 1 / whole, 3: 0.25 / whole})


def test_neighbours_reference_and_kind_of_source_weigh_by_their_settings() -> None:
    """Scores 1, 0.5 and 0.25 of three messages in a row; the second one is a tool's (by hand)."""
    lexical = {"lexical": [Hit(seq=s, score=v) for s, v in ((4, 8.0), (5, 4.0), (6, 2.0))]}
    about = Told(named={6: 1.0}, tool_output=frozenset({5}))

    def scores(**weights: float) -> dict[int, float]:
        none = {"previous_weight": 0, "following_weight": 0, "reference_weight": 0}
        table = RetrievalSettings.model_validate(none | weights)
        return {f.seq: f.score for f in fuse(table, lexical, as_of=9, told=about)}

    assert scores() == pytest.approx({4: 1, 5: 0.5, 6: 0.25})
    assert scores(previous_weight=1) == pytest.approx({4: 0.5, 5: 0.75, 6: 0.375})
    assert scores(following_weight=1) == pytest.approx({4: 0.75, 5: 0.375, 6: 0.125})
    assert scores(reference_weight=1) == pytest.approx({4: 0.5, 5: 0.25, 6: 0.625})
    assert scores(tool_output_weight=0.5) == pytest.approx({4: 1, 5: 0.25, 6: 0.25})
    (best, *_) = fuse(
        RetrievalSettings.model_validate({"tool_output_weight": 0.5}), lexical, as_of=9, told=about
    )
    assert best.terms == pytest.approx({"lexical": 1, "around": 0.3 * 0.5})


async def test_a_message_of_the_named_speaker_comes_first(store: Store) -> None:
    """Two say the same of themselves; the question names one of them."""
    said = "my favourite colour is teal"
    await store.create_conversation("c")
    for name in ("Ana Ruiz", "Ben", "Ana Ruiz"):
        await store.append("c", "user", said, speaker=name)
        await store.append("c", "assistant", "noted, thank you")
    await Indexer(store, None).index_due("c")
    history = await store.messages("c")
    finder = retriever(store, None, previous_weight=0, following_weight=0)
    for question, first in (("Ben's favourite colour?", {2}), ("ana's favourite colour?", {0, 4})):
        ranked = await finder.rank("c", question, as_of=5, history=history)
        assert {one.seq for one in ranked[: len(first)]} == first
        assert all(one.terms["reference"] == 1 for one in ranked[: len(first)])


def test_tool_results_are_known_by_role_and_by_block() -> None:
    """A result may be a message of its own or a block of the user's."""
    history = [say(0, "port 8443"), call(1, "a"), answer(2, "a"), say(3, "port 8443")]
    found = {"lexical": [Hit(seq=s, score=1.0) for s in range(4)]}
    assert told("port 8443?", history, found).tool_output == {2}
    assert told("port 8443?", history[:2], found).tool_output == frozenset()


@pytest.mark.parametrize("preset", PRESETS)
def test_trigrams_count_where_nothing_else_does(preset: str) -> None:
    """Trigram hits are ranked only when both searches came back empty."""
    trigram = {1: 0.5, 2: 0.25}
    assert _fused(preset, trigram=trigram) == pytest.approx({1: 1.0, 2: 0.5})
    assert set(_fused(preset, trigram=trigram, lexical={3: 1.0})) == {3}
    assert _fused(preset) == {}


# message groups


def plain(size: int) -> list[Message]:
    """Return a history of plain messages."""
    return [Message(seq=i, role="user", content=f"m{i}") for i in range(size)]


def matches(*seqs: int) -> list[Fused]:
    """Return a ranking of seqs, best first."""
    return [Fused(seq=seq, score=1 - i / 10, terms={}) for i, seq in enumerate(seqs)]


@pytest.mark.parametrize(
    ("ranked", "around", "limit", "exclude", "expected"),
    [
        ([], 2, 4, (), []),
        ([5], 2, 4, (), [([3, 4, 5, 6, 7], [5])]),
        ([5], 0, 4, (), [([5], [5])]),
        ([0], 2, 4, (), [([0, 1, 2], [0])]),
        ([9], 2, 4, (), [([7, 8, 9], [9])]),
        ([5], 99, 4, (), [(list(range(10)), [5])]),
        ([7, 2], 1, 4, (), [([6, 7, 8], [7]), ([1, 2, 3], [2])]),  # best first, not oldest
        ([7, 2], 1, 1, (), [([6, 7, 8], [7])]),
        ([5, 6], 1, 4, (), [([4, 5, 6, 7], [5, 6])]),  # overlapping groups are one
        ([3, 5, 4], 0, 4, (), [([3], [3]), ([5], [5]), ([4], [4])]),  # touching ones are not
        ([2, 6, 4], 1, 4, (), [([1, 2, 3, 4, 5, 6, 7], [2, 4, 6])]),  # one in the middle joins two
        ([5], 2, 4, (4, 7), [([3, 5, 6], [5])]),
        ([5], 0, 4, (5,), []),
        ([77, 5], 0, 4, (), [([5], [5])]),  # not in this history
    ],
)
def test_groups_by_hand(
    ranked: list[int],
    around: int,
    limit: int,
    exclude: tuple[int, ...],
    expected: list[tuple[list[int], list[int]]],
) -> None:
    """Matches come with their neighbours, overlapping groups merge, the limit holds."""
    groups = message_groups(
        matches(*ranked), plain(10), around=around, limit=limit, exclude=exclude
    )
    assert [([m.seq for m in g.messages], list(g.matched_seqs)) for g in groups] == expected


def test_a_group_has_its_best_score() -> None:
    """A merged group is as good as the best match in it."""
    (group,) = message_groups(matches(5, 6), plain(10), around=1, limit=4)
    assert group.score == 1.0


def test_a_group_holds_whole_tool_pairs() -> None:
    """A match beside a tool call brings the result along, and the other way round (by hand)."""
    call = {"type": "tool_use", "id": "t", "name": "n", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "t", "content": "r"}
    history = plain(8)
    history[3] = history[3].with_(role="assistant", blocks=(call,))
    history[5] = history[5].with_(role="tool", blocks=(result,))
    for seq, expected in ((3, [3, 4, 5]), (4, [3, 4, 5]), (5, [3, 4, 5]), (2, [2]), (6, [6])):
        (group,) = message_groups(matches(seq), history, around=0, limit=1)
        assert [m.seq for m in group.messages] == expected


def test_groups_are_cut_from_the_history_as_given() -> None:
    """A history that begins later, or has gaps, is taken by position; its words are shown."""
    history = [m.with_(content="as of then") for m in plain(10) if m.seq not in (0, 1, 5)]
    (group,) = message_groups(matches(6), history, around=1, limit=1)
    assert [m.seq for m in group.messages] == [4, 6, 7]
    assert {m.content for m in group.messages} == {"as of then"}


@settings(max_examples=50, deadline=None)
@given(
    history=histories(min_size=1, max_size=25),
    ranked=st.lists(st.integers(0, 30), unique=True, max_size=10),
    around=st.integers(0, 4),
    limit=st.integers(1, 5),
    exclude=st.sets(st.integers(0, 25), max_size=6),
)
def test_groups_keep_their_promises(
    history: list[Message], ranked: list[int], around: int, limit: int, exclude: set[int]
) -> None:
    """Groups are few, apart, in order, without excluded messages, and bordered between pairs."""
    groups = message_groups(matches(*ranked), history, around=around, limit=limit, exclude=exclude)
    assert len(groups) <= limit
    assert [g.score for g in groups] == sorted((g.score for g in groups), reverse=True)
    seqs = [m.seq for g in groups for m in g.messages]
    assert len(seqs) == len(set(seqs))
    assert not exclude & set(seqs)
    assert {s for g in groups for s in g.matched_seqs} <= set(ranked)
    borders = {*atomic_starts(history), len(history)}
    whole = message_groups(matches(*ranked), history, around=around, limit=limit)
    for group in whole:
        own = [m.seq for m in group.messages]
        assert all(after == before + 1 for before, after in pairwise(own))
        assert own[0] in borders and own[-1] + 1 in borders
        assert set(group.matched_seqs) <= set(own)
        for seq in group.matched_seqs:
            near = range(max(0, seq - around), min(len(history), seq + around + 1))
            assert set(near) <= set(own)


async def test_the_room_goes_to_the_best_matches_of_a_merged_group(store: Store) -> None:
    """Matches that lie close are one group; its best message comes first, not its first one."""
    await store.create_conversation("c")
    for i in range(12):
        await store.append("c", "user", f"message {i}")
    snapshot = await SnapshotReader(store, HeuristicCounter()).load("c", None)
    (group,) = message_groups(matches(7, 3, 5), snapshot.messages, around=1, limit=4)
    blocks = retrieved_blocks([group], snapshot, shown={4})
    assert [b.message_seqs[0] for b in blocks] == [7, 6, 8, 3, 2, 5]
