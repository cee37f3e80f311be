"""The names that formats give to roles."""

from __future__ import annotations

from typing import Any

from ctxeng.core.messages import Role

_ROLES: dict[str, Role] = {
    **dict.fromkeys(("user", "human", "prompter", "humanmessage"), "user"),
    **dict.fromkeys(
        ("assistant", "ai", "gpt", "chatgpt", "bing", "bard", "bot", "model", "gemini", "claude",
         "aimessage", "aimessagechunk", "chatbot"), "assistant",
    ),
    **dict.fromkeys(
        ("tool", "function", "toolmessage", "functionmessage", "observation", "ipython"), "tool"
    ),
    **dict.fromkeys(("system", "developer", "systemmessage"), "system"),
}  # fmt: skip


def role_of(name: Any) -> Role | None:
    """Return the role a format's own name stands for, None where it is none."""
    return _ROLES.get(name.strip().lower()) if isinstance(name, str) else None
