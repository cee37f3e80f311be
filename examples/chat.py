"""A terminal chat on the Context Builder: every turn is saved, compaction runs in the background.

python examples/chat.py [--model claude-haiku-5-5] [--conversation ID]
"""

from __future__ import annotations

import argparse
import asyncio
import sys

from ctxeng.compaction import ModelDistiller, ModelSummariser
from ctxeng.core.calls import ModelRequest
from ctxeng.core.errors import CtxengError
from ctxeng.embedding import open_embedder
from ctxeng.models import Ledger, open_client
from ctxeng.store import Store
from ctxeng.strategies.builtin import settings_for
from ctxeng.strategies.wiring import Parts, wire
from ctxeng.tokens import open_counter

SYSTEM = "You are a helpful assistant. Answer from the conversation."


async def tidy(parts: Parts, conversation: str) -> None:
    await parts.compactor.run_due(conversation)
    await parts.indexer.index_due(conversation)


async def chat(model: str, conversation: str) -> None:
    """Read questions from standard input and answer them until it ends."""
    async with (open_client(ledger=Ledger.open(None)) as client,
                await Store.open() as store, asyncio.TaskGroup() as background):  # fmt: skip
        parts = wire(settings_for("hybrid"), store=store, embedder=open_embedder("minilm"),
                     summariser=ModelSummariser(client, model), counter=open_counter("heuristic"),
                     distiller=ModelDistiller(client, model))  # fmt: skip
        await store.create_conversation(conversation)
        while question := (await asyncio.to_thread(sys.stdin.readline)).strip():
            await store.append(conversation, "user", question)
            context = await parts.builder.build(conversation, question, system=SYSTEM)
            prompt = context.to_anthropic()
            request = ModelRequest(role="reader", model=model, system=tuple(prompt["system"]),
                                   messages=tuple(prompt["messages"]), max_tokens=800,
                                   prompt_id="chat@1")  # fmt: skip
            try:
                answer = (await client.complete(request)).text
            except CtxengError as error:
                print(f"({error})", file=sys.stderr)
                continue
            await store.append(conversation, "assistant", answer)
            print(answer, flush=True)
            background.create_task(tidy(parts, conversation))


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--model", default="offline")
    options.add_argument("--conversation", default="chat")
    asyncio.run(chat(**vars(options.parse_args())))
