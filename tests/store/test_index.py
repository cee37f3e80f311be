"""The search index: BM25, cosine and trigrams over one conversation as of a seq."""

from __future__ import annotations

import asyncio
import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rank_bm25 import BM25Okapi

from ctxeng.core.errors import StoreError
from ctxeng.store import Hit, IndexEntry, Store
from ctxeng.store.index import BM25_B, BM25_K1, MAX_TERM_CHARACTERS, bm25
from tests.store.examples import HOSTILE, conversation_of, entry, said, unit, with_vectors

few = settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
_fresh = iter(range(1_000_000))
documents = st.lists(
    st.lists(
        st.sampled_from(["budget", "budget", "rack", "px-2291", "予算", "예산", "a"]), max_size=6
    ),
    min_size=1,
    max_size=8,
)


async def indexed(store: Store, name: str, texts: list[list[str]]) -> None:
    """Make a conversation whose messages have the given terms."""
    await store.append_many(name, said(*(" ".join(terms) for terms in texts)))
    await store.index(name, [entry(seq, *terms) for seq, terms in enumerate(texts)])


# BM25 as a function


def _postings(texts: list[list[str]], query: list[str]) -> list[tuple[str, int, int, int]]:
    return [
        (term, seq, text.count(term), len(text))
        for term in sorted(set(query))
        for seq, text in enumerate(texts)
        if term in text
    ]


@pytest.mark.parametrize(
    ("length", "frequency", "expected"),
    [
        # two messages, one holds the term: idf = ln(1 + 1.5 / 1.5) = ln 2
        (4, 1, math.log(2)),  # of mean length: 1 · 2.2 / (1 + 1.2) = 1
        (8, 1, math.log(2) * 2.2 / 3.1),  # twice as long: 1.2 · (0.25 + 0.75 · 2) = 2.1
        (4, 3, math.log(2) * 6.6 / 4.2),  # three times: 3 · 2.2 / (3 + 1.2)
        (0, 1, math.log(2) * 2.2 / 1.3),  # length 0 counts as such: 1.2 · 0.25 = 0.3
    ],
)
def test_bm25_scores_by_hand(length: int, frequency: int, expected: float) -> None:
    """A score is idf · frequency, saturated and normalised by length (computed by hand)."""
    scores = bm25([("t", 7, frequency, length)], count=2, mean_length=4.0)
    assert scores == {7: pytest.approx(expected)}


def test_bm25_agrees_with_a_reference_implementation() -> None:
    """Up to the idf, which is Lucene's, scores are those of the package rank-bm25."""
    texts = [
        ["the", "budget", "for", "the", "rack", "is", "small"],
        ["rack", "and", "rack", "and", "rack"],
        ["a", "deadline", "in", "march"],
        [
            "the",
            "kestrel",
            "rack",
            "ships",
            "late",
            "this",
            "year",
            "with",
            "a",
            "budget",
            "of",
            "its",
            "own",
        ],
        ["nothing", "to", "see"],
        ["a", "longer", "line", "about", "nothing", "in", "particular", "at", "all"],
        ["the", "end"],
    ]
    reference = BM25Okapi(texts, k1=BM25_K1, b=BM25_B)
    mean = sum(map(len, texts)) / len(texts)
    for term in ("rack", "budget", "deadline", "nothing"):
        containing = sum(term in text for text in texts)
        okapi = math.log((len(texts) - containing + 0.5) / (containing + 0.5))
        lucene = math.log(1 + (len(texts) - containing + 0.5) / (containing + 0.5))
        ours = bm25(_postings(texts, [term]), count=len(texts), mean_length=mean)
        theirs = {seq: s for seq, s in enumerate(reference.get_scores([term])) if s}
        assert {seq: s / lucene for seq, s in ours.items()} == pytest.approx(
            {seq: s / okapi for seq, s in theirs.items()}
        )


@settings(max_examples=50, deadline=None)
@given(
    texts=documents, query=st.lists(st.sampled_from(["budget", "rack", "予算", "zz"]), max_size=4)
)
def test_bm25_scores_are_sums_of_positive_terms(texts: list[list[str]], query: list[str]) -> None:
    """Every message with a wanted term scores above 0, and scores add up over the terms."""
    mean = sum(map(len, texts)) / len(texts)
    scores = bm25(_postings(texts, query), count=len(texts), mean_length=mean)
    assert set(scores) == {i for i, text in enumerate(texts) if set(query) & set(text)}
    assert all(score > 0 for score in scores.values())
    parts = [bm25(_postings(texts, [t]), count=len(texts), mean_length=mean) for t in set(query)]
    assert scores == pytest.approx({seq: sum(p.get(seq, 0) for p in parts) for seq in scores})


def test_bm25_of_nothing_is_nothing() -> None:
    """No postings give no scores, whatever the collection."""
    assert bm25([], count=0, mean_length=0.0) == {}


# the lexical search


async def test_the_rarer_and_denser_message_is_found_first(store: Store) -> None:
    """Rare terms weigh more than common ones, short messages more than long ones."""
    texts = [["the", "budget"], ["the", "rack"], ["the", "rack", *["x"] * 9], ["the"]]
    await indexed(store, "c", texts)
    hits = await store.search_lexical("c", ["rack", "budget"], as_of=3, limit=9)
    assert [hit.seq for hit in hits] == [0, 1, 2]
    mean = sum(map(len, texts)) / 4
    expected = bm25(_postings(texts, ["rack", "budget"]), count=4, mean_length=mean)
    assert {hit.seq: hit.score for hit in hits} == pytest.approx(expected)


async def test_a_repeated_question_word_counts_once(store: Store) -> None:
    """The terms of a question are a set: repeats and order change nothing."""
    await indexed(store, "c", [["a", "b"], ["a", "c"], ["b"]])
    once = await store.search_lexical("c", ["a", "b"], as_of=2, limit=9)
    assert await store.search_lexical("c", ["b", "a", "b", "a"], as_of=2, limit=9) == once
    assert len(once) == 3


@few
@given(
    texts=documents,
    more=documents,
    query=st.lists(st.sampled_from(["budget", "予算", "a"]), max_size=3),
)
async def test_a_search_as_of_a_seq_knows_nothing_later(
    store: Store, texts: list[list[str]], more: list[list[str]], query: list[str]
) -> None:
    """Hits and scores as of a seq are those of a conversation that ends there."""
    short, long = f"short{next(_fresh)}", f"long{next(_fresh)}"
    await indexed(store, short, texts)
    await indexed(store, long, texts + more)
    as_of = len(texts) - 1
    expected = await store.search_lexical(short, query, as_of=as_of, limit=20)
    assert await store.search_lexical(long, query, as_of=as_of, limit=20) == expected


async def test_lexical_limits_and_exclusions(store: Store) -> None:
    """The best hits come first, ties by seq; excluded seqs leave their place to the next."""
    await indexed(store, "c", [["t"], ["t"], ["t"], ["u"]])
    cases: list[tuple[int, set[int], int, list[int]]] = [
        (1, set(), 3, [0]),
        (2, {0}, 3, [1, 2]),
        (9, {0, 1, 2}, 3, []),
        (9, {55, -1}, 3, [0, 1, 2]),
        (9, set(), 1, [0, 1]),
        (9, set(), -1, []),
        (0, set(), 3, []),
    ]
    for limit, exclude, as_of, expected in cases:
        hits = await store.search_lexical("c", ["t"], as_of=as_of, limit=limit, exclude=exclude)
        assert [hit.seq for hit in hits] == expected, (limit, exclude, as_of)


async def test_exclusion_changes_no_score(store: Store) -> None:
    """Statistics count the whole conversation, messages excluded from the hits as well."""
    await indexed(store, "c", [["t", "a"], ["t"], ["b"]])
    everything = await store.search_lexical("c", ["t"], as_of=2, limit=9)
    rest = await store.search_lexical("c", ["t"], as_of=2, limit=9, exclude=[1])
    assert rest == [hit for hit in everything if hit.seq != 1]


async def test_a_question_without_terms_finds_nothing(store: Store) -> None:
    """No terms, unknown terms, an unknown conversation and an empty one give no hits."""
    await indexed(store, "c", [["t"], []])
    assert await store.search_lexical("c", [], as_of=1, limit=9) == []
    assert await store.search_lexical("c", ["zz"], as_of=1, limit=9) == []
    assert await store.search_lexical("nobody", ["t"], as_of=1, limit=9) == []
    assert [hit.seq for hit in await store.search_lexical("c", ["t"], as_of=1, limit=9)] == [0]


async def test_any_text_is_safe_as_a_term(store: Store) -> None:
    """Hostile terms are data: each message is found by its own, and by no other's."""
    terms = [text or "\0empty\ud800" for text in HOSTILE.values()]
    await indexed(store, "c", [["x"]])
    await store.append_many("c", said(*(["y"] * len(terms))))
    await store.index("c", [entry(seq, term) for seq, term in enumerate(terms)])
    for seq, term in enumerate(terms):
        hits = await store.search_lexical("c", [term], as_of=99, limit=9)
        assert [hit.seq for hit in hits] == [seq], term


async def test_terms_of_any_length_are_indexed(store: Store) -> None:
    """A key or blob of many kilobytes neither stops the indexing nor loses the message."""
    rng = np.random.default_rng(20260317)
    blobs = ["".join(map(chr, rng.integers(0x4E00, 0x9FFF, size))) for size in (200, 201, 9000)]
    await indexed(store, "c", [["small"], *([blob] for blob in blobs)])
    for seq, blob in enumerate(blobs, start=1):
        hits = await store.search_lexical("c", [blob], as_of=9, limit=9)
        assert [hit.seq for hit in hits] == [seq]
        head = blob[:MAX_TERM_CHARACTERS]
        assert await store.search_lexical("c", [head], as_of=9, limit=9) == hits


# the semantic search


@with_vectors
async def test_the_nearest_messages_come_first(store: Store) -> None:
    """Hits are ranked by cosine, the best chunk of each message (by hand)."""
    await conversation_of(store, "c", 4)
    rows = [
        [unit(0.0, 1.0)],  # cosine 0
        [unit(0.6, 0.8)],  # cosine 0.6
        [unit(-1.0), unit(0.8, 0.6)],  # best chunk 0.8
        [unit(-1.0)],  # cosine -1
    ]
    await store.index("c", [entry(seq, vectors=r) for seq, r in enumerate(rows)])
    hits = await store.search_semantic("c", unit(1.0), as_of=3, limit=9)
    assert [hit.seq for hit in hits] == [2, 1, 0, 3]
    assert [hit.score for hit in hits] == pytest.approx([0.8, 0.6, 0.0, -1.0], abs=1e-6)


@with_vectors
async def test_semantic_limits_and_exclusions(store: Store) -> None:
    """As of a seq, nothing later is found; excluded seqs leave their place; ties go by seq."""
    await conversation_of(store, "c", 5)
    await store.index("c", [entry(seq, vectors=[unit(1.0)]) for seq in range(4)])
    cases: list[tuple[int, set[int], int, list[int]]] = [
        (9, set(), 4, [0, 1, 2, 3]),
        (2, set(), 4, [0, 1]),
        (2, {0, 2}, 4, [1, 3]),
        (9, set(), 1, [0, 1]),
        (9, {0, 1, 2, 3}, 4, []),
        (9, set(), -1, []),
    ]
    for limit, exclude, as_of, expected in cases:
        hits = await store.search_semantic(
            "c", unit(1.0), as_of=as_of, limit=limit, exclude=exclude
        )
        assert [hit.seq for hit in hits] == expected, (limit, exclude, as_of)


@with_vectors
async def test_a_message_without_direction_is_found_by_no_cosine(store: Store) -> None:
    """Zero rows (emoji, punctuation) and rows that are no numbers spoil no other hit."""
    await conversation_of(store, "c", 4)
    zero, broken = np.zeros(384, dtype=np.float32), np.full(384, np.nan, dtype=np.float32)
    await store.index(
        "c",
        [
            entry(0, "x", vectors=[zero]),
            entry(1, "x", vectors=[unit(0.6, 0.8), zero]),
            entry(2, "x", vectors=[broken]),
            entry(3, "x", vectors=[unit(1.0)]),
        ],
    )
    hits = await store.search_semantic("c", unit(1.0), as_of=3, limit=9)
    assert [hit.seq for hit in hits] == [3, 1]
    assert await store.search_semantic("c", zero, as_of=3, limit=9) == []
    assert await store.unindexed("c") == []


@with_vectors
async def test_a_vector_of_another_length_is_refused(store: Store) -> None:
    """A question embedded in other dimensions is a StoreError, not a wrong answer."""
    await conversation_of(store, "c", 1)
    await store.index("c", [entry(0, vectors=[unit(1.0)])])
    with pytest.raises(StoreError, match="different vector dimensions 384 and 3"):
        await store.search_semantic("c", np.ones(3, dtype=np.float32), as_of=0, limit=9)


@with_vectors
async def test_without_trigrams_the_trigram_search_is_empty(store: Store) -> None:
    """The embedded server has no pg_trgm: the capability says so and the search finds nothing."""
    await conversation_of(store, "c", 1)
    assert not store.capabilities.trigram
    assert await store.search_trigram("c", "message", as_of=0, limit=9) == []


# keeping the index


async def test_unindexed_messages_come_oldest_first(store: Store) -> None:
    """The work list is in order, keeps its limit, and is empty when all is done."""
    await conversation_of(store, "c", 6)
    assert [m.seq for m in await store.unindexed("c", limit=4)] == [0, 1, 2, 3]
    await store.index("c", [entry(1), entry(3)])
    assert [m.seq for m in await store.unindexed("c", limit=3)] == [0, 2, 4]
    await store.index("c", [entry(seq) for seq in (0, 2, 4, 5)])
    assert await store.unindexed("c") == []
    assert await store.unindexed("nobody") == []


@with_vectors
async def test_indexing_again_replaces(store: Store) -> None:
    """A second entry for a message takes the place of the first, in both searches."""
    await conversation_of(store, "c", 1)
    await store.index("c", [entry(0, "old", vectors=[unit(1.0), unit(0.0, 1.0)])])
    await store.index("c", [entry(0, "new", vectors=[unit(0.0, 1.0)])])
    assert await store.search_lexical("c", ["old"], as_of=0, limit=9) == []
    (hit,) = await store.search_lexical("c", ["new"], as_of=0, limit=9)
    assert hit.score == pytest.approx(math.log(1 + 0.5 / 1.5))  # one message, of mean length
    assert await store.search_semantic("c", unit(1.0), as_of=0, limit=9) == [Hit(seq=0, score=0.0)]


@with_vectors
async def test_several_indexers_at_once_do_no_harm(store: Store) -> None:
    """Tasks that index the same messages at once all succeed and leave one entry each."""
    await conversation_of(store, "c", 20)
    entries = [entry(seq, "t", f"n{seq}", vectors=[unit(1.0)]) for seq in range(20)]
    await asyncio.gather(*(store.index("c", entries) for _ in range(5)))
    assert len(await store.search_lexical("c", ["t"], as_of=19, limit=99)) == 20
    assert len(await store.search_semantic("c", unit(1.0), as_of=19, limit=99)) == 20
    alone = await store.search_lexical("c", ["n7"], as_of=19, limit=9)
    assert alone == [Hit(seq=7, score=pytest.approx(math.log(1 + 19.5 / 1.5)))]


async def test_only_messages_that_exist_are_indexed(store: Store) -> None:
    """An entry for an unknown seq or conversation is a StoreError, and the batch is undone."""
    await conversation_of(store, "c", 2)
    with pytest.raises(StoreError, match="message must exist, got seq 2 of conversation 'c'"):
        await store.index("c", [entry(0, "t"), entry(2, "t")])
    assert await store.search_lexical("c", ["t"], as_of=9, limit=9) == []
    with pytest.raises(StoreError, match="conversation must exist, got 'nobody'"):
        await store.index("nobody", [entry(0, "t")])
    await store.index("nobody", [])


async def test_an_edited_message_is_indexed_anew(store: Store) -> None:
    """After an edit the message and the one after it are due again, and found by the new words."""
    await conversation_of(store, "c", 4)
    await store.index("c", [entry(s, f"w{s}", f"w{s - 1}", vectors=[unit(1.0)]) for s in range(4)])
    await store.edit_message("c", 1, "other words")
    assert [m.seq for m in await store.unindexed("c")] == [1, 2]
    await store.append("c", "user", "message 4")
    assert await _found(store, "w1", as_of=4) == []
    await store.index("c", [entry(1, "other", "w0"), entry(2, "w2", "other"), entry(4, "w4")])
    assert await _found(store, "other", as_of=4) == [1, 2]
    assert await _found(store, "w1", as_of=4) == []
    assert await store.unindexed("c") == []


@with_vectors
async def test_an_edit_leaves_past_searches_as_they_were(store: Store) -> None:
    """As of a seq before the edit, words, vectors, scores and statistics are the old ones."""
    await conversation_of(store, "c", 5)
    await store.index("c", [entry(s, f"w{s}", "w", vectors=[unit(1.0, s)]) for s in range(5)])
    lexical = await store.search_lexical("c", ["w1", "w"], as_of=3, limit=9)
    semantic = await store.search_semantic("c", unit(1.0), as_of=3, limit=9)
    await store.edit_message("c", 1, "new")
    new = [entry(1, "new", *["x"] * 30, vectors=[unit(0.0, 0.0, 1.0)]), entry(2, "w2", "new", "w")]
    await store.index("c", new)
    assert await store.search_lexical("c", ["w1", "w"], as_of=3, limit=9) == lexical
    assert await store.search_semantic("c", unit(1.0), as_of=3, limit=9) == semantic
    assert await _found(store, "new", as_of=3) == []
    assert await _found(store, "new", as_of=4) == [2, 1]
    hits = await store.search_semantic("c", unit(0.0, 0.0, 1.0), as_of=4, limit=1)
    assert hits == [Hit(seq=1, score=1.0)]


async def test_every_edit_keeps_its_own_past(store: Store) -> None:
    """Several edits of one message, indexed or not in between, are each found as of their time."""
    await conversation_of(store, "c", 2)
    await store.index("c", [entry(0, "v0"), entry(1, "y")])
    for words, then_append in (("v1", True), ("v2", False), ("v3", True), ("v4", False)):
        await store.edit_message("c", 0, words)
        await store.index("c", [entry(0, words), entry(1, "y")])
        if then_append:
            await store.append("c", "user", "more")
    found = {
        words: [as_of for as_of in range(4) if await _found(store, words, as_of=as_of)]
        for words in ("v0", "v1", "v2", "v3", "v4")
    }
    assert found == {"v0": [0], "v1": [1], "v2": [], "v3": [2], "v4": [3]}


async def _found(store: Store, term: str, *, as_of: int) -> list[int]:
    return [hit.seq for hit in await store.search_lexical("c", [term], as_of=as_of, limit=9)]


@few
@given(
    texts=documents,
    edits=st.lists(
        st.tuples(st.integers(0, 7), st.sampled_from(["rack", "予算", "zz"])), max_size=4
    ),
)
async def test_scores_as_of_now_are_those_of_the_words_now(
    store: Store, texts: list[list[str]], edits: list[tuple[int, str]]
) -> None:
    """After edits and indexing, a search equals one over a conversation written so at once."""
    edited, plain = f"edited{next(_fresh)}", f"plain{next(_fresh)}"
    await indexed(store, edited, texts)
    words = [list(terms) for terms in texts]
    for where, term in edits:
        words[where % len(words)] = [term]
        await store.edit_message(edited, where % len(words), term)
    due = [m.seq for m in await store.unindexed(edited)]
    await store.index(edited, [entry(seq, *words[seq]) for seq in due])
    await indexed(store, plain, words)
    for query in (["budget"], ["rack", "予算"], ["zz", "a"]):
        ours = await store.search_lexical(edited, query, as_of=99, limit=20)
        expected = await store.search_lexical(plain, query, as_of=99, limit=20)
        assert ours == expected
        assert all(a.score >= b.score for a, b in pairwise(ours))


async def test_an_entry_may_have_no_vectors(store: Store) -> None:
    """A message without text to embed is indexed by its terms alone."""
    await conversation_of(store, "c", 2)
    empty = np.zeros((0, 384), dtype=np.float32)
    await store.index(
        "c", [IndexEntry(seq=0, terms=["t"]), IndexEntry(seq=1, terms=[], vectors=empty)]
    )
    assert await store.search_semantic("c", unit(1.0), as_of=1, limit=9) == []
    assert [hit.seq for hit in await store.search_lexical("c", ["t"], as_of=1, limit=9)] == [0]
    assert await store.unindexed("c") == []
