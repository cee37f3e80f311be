"""Distil memory from notes: sentences with the cue words of a kind become items."""

from __future__ import annotations

import re
from typing import Any

from ctxeng.models.offline.prompt import Tagged
from ctxeng.models.offline.summarise import salience
from ctxeng.models.offline.words import estimated_tokens, sentences, words

KINDS: tuple[tuple[str, str], ...] = (
    ("rejection", r"\b(?:don'?t want|do not want|no longer|not going to|hate|dislike|rejected|ruled out|"
     r"instead of|never use|scrap|drop(?:ped)?|anything but)\b|嫌|やめ|なし|싫|말고|안 할|不要|不用"),
    ("preference", r"\b(?:prefer|like|love|favou?rite|would rather|rather have|fond of|enjoy)\b|"
     r"好き|好み|がいい|좋아|선호|喜欢|偏好"),
    ("constraint", r"\b(?:must|cannot|can'?t|no more than|at most|at least|limit|budget|deadline|"
     r"allergic|only)\b|まで|以内|予算|必ず|까지|예산|반드시|必须|不能|预算"),
    ("repeated_decision", r"\b(?:decided|agreed|settled|going with|let'?s go with|we'?ll use|chose)\b|"
     r"決め|決定|にします|결정|하기로|决定"),
    ("intent", r"\b(?:want to|plan to|trying to|goal)\b|したい|予定|싶|계획|想要|打算"),
    ("anchor", r"\w[._/@\-]\w|\d"),
)  # fmt: skip
_COMPILED = tuple((kind, re.compile(rx, re.IGNORECASE)) for kind, rx in KINDS)
_NAMED = re.compile(r"^([^:\n]{1,40}): ")
_CHANGED = re.compile(
    r"\b(?:instead|scratch|change|changed|actually|rather|now)\b|変更|やっぱり|변경|아니|改成"
)
OVERLAP_REPLACES = 0.6


def distil(pieces: list[Tagged], *, target: int) -> dict[str, Any]:
    """Return the tool input: old items kept by id, new ones from the notes."""
    old = [p for p in pieces if p.tag == "item"]
    items: list[dict[str, Any]] = [
        {
            "kind": p.attributes.get("kind", "stable_fact"),
            "text": p.text,
            "scope": p.attributes.get("scope", "conversation"),
            "speaker": p.attributes.get("speaker"),
            "confidence": 1.0,
            "sources": [],
            "keeps": p.attributes.get("id"),
        }
        for p in old
    ]
    used = sum(estimated_tokens(p.text) for p in old)
    fresh = [entry for p in pieces if p.tag == "episode" for entry in _entries(p)]
    for _, entry in sorted(enumerate(fresh), key=lambda e: (-salience(e[1]["text"]), e[0])):
        cost = estimated_tokens(entry["text"])
        if used + cost > target:
            continue
        used += cost
        items.append({**entry, "replaces": _replaced(entry, old)})
    return {"items": items}


def _entries(piece: Tagged) -> list[dict[str, Any]]:
    sources = [int(piece.attributes[name]) for name in ("from", "to") if name in piece.attributes]
    covered = list(range(sources[0], sources[-1] + 1)) if sources else []
    entries = []
    for sentence in sentences(piece.text):
        kind = next((k for k, rx in _COMPILED if rx.search(sentence)), None)
        if kind is None or sentence.endswith(("?", "？")):
            continue
        named = _NAMED.match(sentence)
        entries.append(
            {
                "kind": kind,
                "text": sentence[named.end() :] if named else sentence,
                "scope": "conversation",
                "speaker": named[1] if named else None,
                "confidence": 0.8 if kind != "anchor" else 0.5,
                "sources": covered,
            }
        )
    return entries


def _replaced(entry: dict[str, Any], old: list[Tagged]) -> str | None:
    """Return the id of the old item that a sentence about a change speaks of, if one is clear."""
    if not _CHANGED.search(entry["text"]):
        return None
    mine = set(words(entry["text"]))
    for piece in old:
        theirs = set(words(piece.text))
        if theirs and len(mine & theirs) / len(theirs) >= OVERLAP_REPLACES:
            return piece.attributes.get("id")
    return None
