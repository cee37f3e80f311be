"""Chats out of traces: the model calls and tool calls of one thread, as sessions."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ctxeng.core.messages import Message
from ctxeng.harness.importers.model import Account, SessionDraft, draft
from ctxeng.harness.importers.openai_shape import read_all, read_message
from ctxeng.harness.importers.request_logs import Exchange, said, sessions_of
from ctxeng.harness.importers.values import first_text, listed, mapped, text_of
from ctxeng.harness.sessions.text import parse_json

_FLAT = re.compile(r"^(system|developer|user|assistant|tool): ", re.MULTILINE)
_KEYS = ("messages", "generations", "choices", "message")
_QUESTION = ("input", "question", "query", "prompt")
_ANSWER = ("content", "text", "output", "answer", "result", "response")


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step of a thread: a call of a model, or of a tool where ``tool`` names it."""

    asked: tuple[Message, ...] = ()
    answer: Message | None = None
    tool: str = ""
    result: str = ""
    meta: Mapping[str, Any] = field(default_factory=dict)


def chats_of(
    name: str, steps: Sequence[Step], account: Account, *, origin: str, title: str = ""
) -> list[SessionDraft]:
    """Return the sessions of one thread, given its steps in the order of time.

    Where calls repeat the history, each session is the longest call; where they show only what is
    new, the calls are one after the other one session, with the tools' results between them.
    """
    calls = [step for step in steps if not step.tool]
    if _shows_only_what_is_new(calls):
        return [_in_a_row(name, steps, account, origin=origin, title=title)]
    account.skip("tool step, in the history already", len(steps) - len(calls))
    exchanges = []
    for number, step in enumerate(calls, start=1):
        if not step.asked:
            account.skip("model call without readable input")
            continue
        exchanges.append(
            Exchange(
                name=f"{name}-{number:03d}",
                asked=step.asked,
                answer=step.answer,
                meta=step.meta,
            )
        )
    found = sessions_of(exchanges, account, origin=origin, title=title)
    if len(found) == 1:
        return [replace(found[0], header=replace(found[0].header, session_id=name))]
    return found


def read_asked(value: Any) -> tuple[Message, ...]:
    """Return the messages of a call's input, however a tracer wrote it down."""
    value = decoded(value)
    if isinstance(value, str):
        return _flat(value)
    return tuple(read_all(_raw_messages(value)))


def read_answer(value: Any) -> Message | None:
    """Return the message of a call's output; None where it is empty or no message."""
    value = decoded(value)
    words = value if isinstance(value, str) else first_text(mapped(value), *_ANSWER)
    raws = [{"role": "assistant", "content": words}] if words else _raw_messages(value)
    for raw in raws:
        if message := read_message(_with_role(raw)):
            return message
    return None


def decoded(value: Any) -> Any:
    """Return a value that was written as JSON text, up to twice; ``None`` in words is nothing."""
    for _ in range(2):
        if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "[", '"'):
            break
        try:
            value = parse_json(value.encode())
        except ValueError:
            break
    return None if isinstance(value, str) and value.strip() in ("None", "null", "") else value


def _raw_messages(value: Any) -> list[Any]:
    """Return the message objects in a value; nested lists (batches of one) are opened."""
    if isinstance(value, dict):
        if found := next((value[key] for key in _KEYS if value.get(key)), None):
            return _raw_messages(found)
        if "lc" in value or "kwargs" in value or "data" in value:
            return [_constructed(value)]
        if "role" in value or "type" in value:
            return [value]
        words = first_text(value, *_QUESTION)
        return [{"role": "user", "content": words}] if words else []
    raws: list[Any] = []
    for one in listed(value):
        if isinstance(one, list):
            raws += [_constructed(mapped(raw)) for raw in one]
        else:
            raws += _raw_messages(one) if "message" in mapped(one) else [_constructed(mapped(one))]
    return raws


def _constructed(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a message that LangChain wrote as a constructor call, as role and content."""
    if inner := mapped(raw.get("message")):
        return _constructed(inner)
    path = listed(raw.get("id"))
    about = mapped(raw.get("kwargs")) or mapped(raw.get("data"))
    if not about:
        return raw
    role = text_of(path[-1]) if path else text_of(raw.get("type"))
    return {**about, "role": role, "type": role}


def _with_role(raw: Any) -> Mapping[str, Any]:
    """Return an answer with the role of one who answers, where a tracer left it out."""
    message = mapped(raw)
    has_role = read_message({**message, "content": "x"}) is not None and "role" in message
    return message if has_role and message.get("role") != "user" else {
        **message, "role": "assistant",
    }  # fmt: skip


def _flat(text: str) -> tuple[Message, ...]:
    """Read ``role: words`` lines, as some tracers write a whole history; else a user's words."""
    if not _FLAT.match(text):
        raws = [{"role": "user", "content": text}]
    else:
        parts = _FLAT.split(text)
        pairs = zip(parts[1::2], parts[2::2], strict=True)
        raws = [{"role": role, "content": words.strip()} for role, words in pairs]
    return tuple(read_all([raw for raw in raws if raw["content"] not in ("None", "null")]))


def _shows_only_what_is_new(calls: Sequence[Step]) -> bool:
    if len(calls) < 2:
        return False
    repeats = any(m.role in ("assistant", "tool") for step in calls for m in step.asked)
    asked = {tuple(map(said, step.asked)) for step in calls}
    systems = {m.content for step in calls for m in step.asked if m.role == "system"}
    return not repeats and len(systems) <= 1 and len(asked) > 1


def _in_a_row(
    name: str, steps: Sequence[Step], account: Account, *, origin: str, title: str
) -> SessionDraft:
    messages: list[Message] = []
    seen: set[bytes] = set()
    for step in steps:
        given = [_result(step, messages)] if step.tool else list(step.asked)
        fresh = [m for m in given if m.role != "system" or said(m) not in seen]
        seen.update(map(said, given))
        fresh += [step.answer] if step.answer is not None else []
        if fresh:
            account.take()
        else:
            account.skip("step that says nothing")
        messages += fresh
    return draft(name, messages, origin=origin, title=title, taken=len(messages),
                 meta=steps[0].meta)  # fmt: skip


def _result(step: Step, messages: Sequence[Message]) -> Message:
    """Return a tool's result; it answers the oldest call of that name that has no answer."""
    blocks = [block for message in messages for block in message.blocks]
    answered = {block.get("tool_use_id") for block in blocks}
    call = next(
        (
            block
            for block in blocks
            if block.get("name") == step.tool and block.get("id") not in answered
        ),
        None,
    )
    if call is None:
        return Message(seq=0, role="tool", content=f"[{step.tool}] {step.result}")
    result = {"type": "tool_result", "tool_use_id": call.get("id"), "content": step.result}
    return Message(seq=0, role="tool", content="", blocks=(result,))
