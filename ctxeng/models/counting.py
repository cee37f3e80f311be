"""Token counts by the provider's own endpoint: the truth that local counters estimate."""

from __future__ import annotations

from functools import lru_cache

from ctxeng.core.errors import ModelError, ModelUnavailable
from ctxeng.core.protocols import TokenCounter
from ctxeng.core.text import well_formed
from ctxeng.models.exchange import status_error
from ctxeng.models.sdk import reason, secrets
from ctxeng.tokens import StrictestCounter, open_counter

PREFIX = "provider:"
CACHED_TEXTS = 100_000
RETRIES = 6
TIMEOUT_SECONDS = 60.0
_LETTER = "a"  # one token everywhere; the endpoint refuses a message of blanks alone


class ProviderCounter:
    """Asks ``POST /v1/messages/count_tokens`` once for each text; it is free, but rate-limited.

    A text counts as what it adds to a message; the frame of the message itself is taken off. Each
    count is a blocking request: good for measuring other counters and for counting stored
    messages in a worker, not for a request path.
    """

    def __init__(self, model: str, *, base_url: str | None = None) -> None:
        """Make a counter for a model.

        Raises:
            InputError: no key is set, or one that no header can carry.
        """
        from anthropic import Anthropic

        self.name = f"{PREFIX}{model}"
        self._model = model
        self._secrets = secrets()
        self._client = Anthropic(base_url=base_url, max_retries=RETRIES, timeout=TIMEOUT_SECONDS)
        self._asked = lru_cache(maxsize=CACHED_TEXTS)(self._ask)

    def count(self, text: str) -> int:
        """Return the number of tokens; 0 for empty text.

        Raises:
            ModelError: the endpoint refused the text or could not be reached.
        """
        if not text:
            return 0
        text = well_formed(text)
        frame = self._asked(_LETTER) - 1
        if text.strip():
            return max(0, self._asked(text) - frame)
        return max(0, self._asked(_LETTER + text) - frame - 1)

    def _ask(self, text: str) -> int:
        import anthropic

        try:
            found = self._client.messages.count_tokens(
                model=self._model, messages=[{"role": "user", "content": text}]
            )
            return int(found.input_tokens)
        except anthropic.APIStatusError as error:
            raise status_error(error.status_code, reason(error.body, self._secrets)) from None
        except anthropic.AnthropicError as error:
            raise ModelUnavailable(f"{type(error).__name__} ({self.name}).") from None
        except (AttributeError, TypeError, ValueError):
            raise ModelError(f"{self.name} must answer with input_tokens, got none.") from None


def open_any_counter(name: str) -> TokenCounter:
    """Return a counter by name; ``provider:MODEL`` asks the provider, several are joined by ``+``.

    Raises:
        SettingsError: the name is unknown.
        InputError: a provider is named, and no key is set.
    """
    parts = name.split("+")
    if len(parts) > 1:
        return StrictestCounter([open_any_counter(part) for part in parts])
    if name.startswith(PREFIX) and name != PREFIX:
        return ProviderCounter(name.removeprefix(PREFIX))
    return open_counter(name)
