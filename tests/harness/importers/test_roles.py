"""The names that formats give to roles."""

from __future__ import annotations

from typing import Any

import pytest

from ctxeng.harness.importers.roles import role_of


@pytest.mark.parametrize(
    ("name", "role"),
    [
        *((name, "user") for name in ("user", "human", "prompter", "HumanMessage", " User ")),
        *((name, "assistant") for name in ("assistant", "gpt", "model", "gemini", "AI", "bing")),
        *((name, "tool") for name in ("tool", "function", "ToolMessage", "observation")),
        *((name, "system") for name in ("system", "developer", "SYSTEM")),
        *((name, None) for name in ("", "info", "moderator", None, 1, True, ["user"], {})),
    ],
)
def test_a_role_is_known_by_any_of_its_names(name: Any, role: str | None) -> None:
    """Case and blanks do not matter; what is no role is none, whatever its type."""
    assert role_of(name) == role
