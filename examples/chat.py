"""A terminal chat on the Context Builder: every turn is saved, compaction runs in the background.
python examples/chat.py [--model claude-haiku-5-5] [--conversation ID]; /quit or Ctrl-C ends it."""

import argparse
import asyncio
import contextlib
import sys
import threading
from itertools import chain, takewhile

from ctxeng.compaction import ModelDistiller, ModelSummariser
from ctxeng.core.calls import ModelRequest
from ctxeng.core.errors import CtxengError
from ctxeng.embedding import open_embedder
from ctxeng.models import Ledger, open_client
from ctxeng.store import Store
from ctxeng.strategies import Parts, settings_for, wire
from ctxeng.tokens import open_counter


def listen(loop: asyncio.AbstractEventLoop, questions: asyncio.Queue[str]) -> None:
    with open(0, encoding="utf-8", errors="replace", closefd=False) as lines:
        said = takewhile("/quit".__ne__, filter(None, map(str.strip, lines)))
        for question in chain(said, [""]):
            loop.call_soon_threadsafe(questions.put_nowait, question)


async def tidy(parts: Parts, name: str) -> None:
    with contextlib.suppress(CtxengError):  # what is due stays due until the next turn
        await parts.compactor.run_due(name)
        await parts.indexer.index_due(name)


async def chat(model: str, conversation: str) -> None:
    loop, questions = asyncio.get_running_loop(), asyncio.Queue[str]()
    async with (open_client(ledger=Ledger.open(None)) as client,
                await Store.open() as store, asyncio.TaskGroup() as background):  # fmt: skip
        parts = wire(settings_for("hybrid"), store=store, embedder=open_embedder("minilm"),
                     summariser=ModelSummariser(client, model), counter=open_counter("heuristic"),
                     distiller=ModelDistiller(client, model))  # fmt: skip
        threading.Thread(target=listen, args=(loop, questions), daemon=True).start()
        while question := await questions.get():
            try:
                await store.append(conversation, "user", question)
                context = await parts.builder.build(conversation, question, system="Be brief.")
                request = ModelRequest(role="reader", model=model, prompt_id="chat@1",
                                       max_tokens=800, **context.to_anthropic())  # fmt: skip
                answer = (await client.complete(request)).text
                print((await store.append(conversation, "assistant", answer)).content, flush=True)
            except CtxengError as error:
                print(f"({error})", file=sys.stderr, flush=True)
            background.create_task(tidy(parts, conversation))


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--model", default="offline")
    options.add_argument("--conversation", default="chat")
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(chat(**vars(options.parse_args())))
