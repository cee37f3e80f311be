"""The provider's count endpoint as a counter."""

from __future__ import annotations

import orjson
import pytest

from ctxeng.core.errors import InputError, ModelError, ModelRejected
from ctxeng.models.counting import ProviderCounter, open_any_counter
from ctxeng.tokens import HeuristicCounter
from tests.models.conftest import CANARY
from tests.support.messages_server import FakeApi, Reply, unused_url

MODEL = "claude-haiku-5-5"


def counted(tokens: object, *, status: int = 200) -> Reply:
    """Return an answer of the count endpoint."""
    return Reply(status=status, body=orjson.dumps({"input_tokens": tokens}))


def asked(server: FakeApi) -> list[str]:
    """Return the texts the server was asked about."""
    return [r.body["messages"][0]["content"] for r in server.requests]


def test_a_text_counts_as_what_it_adds_to_a_message(server: FakeApi) -> None:
    """One letter is one token, the rest of its message is frame; every text is asked once."""
    server.play(counted(8), counted(19))
    counter = ProviderCounter(MODEL, base_url=server.base_url)
    assert [counter.count("이 예산은 4,150원"), counter.count("이 예산은 4,150원")] == [12, 12]
    assert counter.count("a") == 1
    assert counter.count("") == 0
    assert asked(server) == ["a", "이 예산은 4,150원"]
    assert {r.body["model"] for r in server.requests} == {MODEL}
    assert counter.name == "provider:claude-haiku-5-5"


def test_blanks_are_counted_behind_a_letter(server: FakeApi) -> None:
    """The endpoint refuses a message of blanks alone."""
    server.play(counted(8), counted(10))
    assert ProviderCounter(MODEL, base_url=server.base_url).count(" \n\t") == 2
    assert asked(server) == ["a", "a \n\t"]


def test_half_an_emoji_is_counted_as_the_sign_it_is_stored_as(server: FakeApi) -> None:
    """No lone surrogate goes over the wire."""
    server.play(counted(8), counted(10))
    assert ProviderCounter(MODEL, base_url=server.base_url).count("x\ud83d") == 3
    assert asked(server) == ["a", "x\ufffd"]


def test_the_local_server_counts_like_the_estimate_it_is_built_on(server: FakeApi) -> None:
    """Unscripted, the imitation answers with the same figure whatever frame it puts around."""
    counter = ProviderCounter(MODEL, base_url=server.base_url)
    text = "The ceiling is 4,150, not a cent more."
    assert abs(counter.count(text) - HeuristicCounter().count(text)) <= 1


def test_a_refusal_says_why_and_never_the_key(server: FakeApi) -> None:
    """Invalid requests are rejected with the API's words."""
    error = {"type": "error", "error": {"type": "invalid_request_error", "message": CANARY}}
    server.play(Reply(status=400, body=orjson.dumps(error)))
    with pytest.raises(ModelRejected, match="status 400") as caught:
        ProviderCounter(MODEL, base_url=server.base_url).count("b")
    assert CANARY not in str(caught.value)


def test_an_answer_without_a_count_is_an_error(server: FakeApi) -> None:
    """A server that answers 200 with something else is no counter."""
    server.play(counted("many"))
    with pytest.raises(ModelError, match="input_tokens"):
        ProviderCounter(MODEL, base_url=server.base_url).count("b")


def test_a_server_that_is_not_there_is_an_error(
    canary: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error names the counter."""
    monkeypatch.setattr("ctxeng.models.counting.RETRIES", 0)
    with pytest.raises(ModelError, match="provider:claude-haiku-5-5"):
        ProviderCounter(MODEL, base_url=unused_url()).count("b")


def test_counters_are_opened_by_name_and_joined(
    server: FakeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The strictest of a local and the provider's count."""
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.base_url)
    server.play(counted(8), counted(107))
    both = open_any_counter(f"heuristic+provider:{MODEL}")
    assert both.name == f"max(heuristic,provider:{MODEL})"
    assert both.count("b" * 40) == 100
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    with pytest.raises(InputError, match="ANTHROPIC_API_KEY"):
        open_any_counter(f"provider:{MODEL}")
