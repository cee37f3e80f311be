"""Ask a probe: the reader's answer as a type, never an exception and never an empty string."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.resources import files

from ctxeng.core.calls import ModelRequest
from ctxeng.core.context import Context
from ctxeng.core.errors import LimitReached, ModelError, ModelRefused
from ctxeng.harness.replay.plan import Readers

READER_PROMPT_ID = "reader@1"


def reader_system() -> str:
    """Return the reader's system text that ships with the package."""
    return (files("ctxeng.harness.replay") / "prompts" / "reader.md").read_text("utf-8").strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """The reader said something."""

    text: str
    key: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """The reader declined."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """The call failed; the probe is neither recalled nor missed."""

    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NotAsked:
    """No reader plays in this run."""


Asked = Answered | Refused | Failed | NotAsked


def reader_request(context: Context, readers: Readers, *, replicate: int) -> ModelRequest:
    """Return the call that puts a context's question to the reader."""
    body = context.to_anthropic()
    return ModelRequest(
        role="reader",
        model=readers.reader_model,
        system=tuple(body["system"]),
        messages=tuple(body["messages"]),
        tools=tuple(body.get("tools", ())),
        max_tokens=readers.reader_max_tokens,
        prompt_id=readers.reader_prompt_id,
        replicate=replicate,
        extra=readers.extra.get("reader", {}),
    )


async def ask(context: Context, readers: Readers, *, replicate: int) -> Asked:
    """Return what the reader made of the context.

    Raises:
        LimitReached: the run has reached its limit on calls or money and must stop.
    """
    if readers.reader is None:
        return NotAsked()
    try:
        response = await readers.reader.complete(
            reader_request(context, readers, replicate=replicate)
        )
    except LimitReached:
        raise
    except ModelRefused as error:
        return Refused(reason=str(error))
    except ModelError as error:
        return Failed(error=f"{type(error).__name__}: {error}")
    return Answered(text=response.text.strip(), key=response.key)
