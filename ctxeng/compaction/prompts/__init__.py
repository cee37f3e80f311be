"""Prompts as data: a Markdown file each, with a version and a hash.

What the prompts wrap the conversation in (all text escaped by ``core.markup``):

* ``<transcript>`` with one ``<message seq= speaker= role= [overlap="yes"]>`` a line;
* ``<previous>`` the rolling state so far; ``<node from= to=>`` one child summary each;
* ``<episode from= to=>`` one note each for distillation, ``<memory>`` of ``<item id= kind= …>``;
* ``<section name="target_tokens">`` the wanted length.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from importlib.resources import files

VERSIONS = {"episode": 1, "rolling": 1, "node": 1, "memory": 1, "cut": 1}


@lru_cache(maxsize=8)
def prompt_text(name: str) -> str:
    """Return a prompt's template."""
    return (files(__name__) / f"{name}.md").read_text("utf-8").strip()


def prompt_id(name: str) -> str:
    """Return name and version, for example ``episode@1``."""
    return f"{name}@{VERSIONS[name]}"


@lru_cache(maxsize=8)
def prompt_hash(name: str) -> str:
    """Return a short hash of one prompt and its version: what it wrote before is out of date."""
    return hashlib.sha256(f"{prompt_id(name)}\0{prompt_text(name)}".encode()).hexdigest()[:12]


@lru_cache(maxsize=1)
def prompts_hash() -> str:
    """Return a short hash over all prompts and versions; it changes when any of them does."""
    body = "\0".join(f"{prompt_id(name)}\0{prompt_text(name)}" for name in sorted(VERSIONS))
    return hashlib.sha256(body.encode()).hexdigest()[:12]
