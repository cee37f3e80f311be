"""Texts as no test writer thinks of them, drawn often enough to matter."""

from __future__ import annotations

from hypothesis import strategies as st

PIECES = [
    "a", "b", " ", ".", "\n", "\t", "\0", "\x1b[31m", "'", '"', "\\", "/", "&", "%", "<", ">", "|",
    "</memory>", "<|endoftext|>", "é", "e\u0301", "予算", "예산", "한", "😀", "\u202e", "\u200b",
    "\ufeff", "\ud83d", "\ude00", "word", "1,850",
]  # fmt: skip
hostile_texts = st.one_of(
    st.lists(st.sampled_from(PIECES), max_size=20).map("".join), st.text(max_size=30)
)
