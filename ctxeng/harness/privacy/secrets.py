"""Keys, tokens and passwords: detect-secrets' detectors, and what chats add to them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from detect_secrets.filters import heuristic
from detect_secrets.plugins.artifactory import ArtifactoryDetector
from detect_secrets.plugins.aws import AWSKeyDetector
from detect_secrets.plugins.azure_storage_key import AzureStorageKeyDetector
from detect_secrets.plugins.base import RegexBasedDetector
from detect_secrets.plugins.basic_auth import BasicAuthDetector
from detect_secrets.plugins.cloudant import CloudantDetector
from detect_secrets.plugins.discord import DiscordBotTokenDetector
from detect_secrets.plugins.github_token import GitHubTokenDetector
from detect_secrets.plugins.gitlab_token import GitLabTokenDetector
from detect_secrets.plugins.ibm_cloud_iam import IbmCloudIamDetector
from detect_secrets.plugins.jwt import JwtTokenDetector
from detect_secrets.plugins.keyword import DENYLIST, KeywordDetector
from detect_secrets.plugins.mailchimp import MailchimpDetector
from detect_secrets.plugins.npm import NpmDetector
from detect_secrets.plugins.openai import OpenAIDetector
from detect_secrets.plugins.pypi_token import PypiTokenDetector
from detect_secrets.plugins.sendgrid import SendGridDetector
from detect_secrets.plugins.slack import SlackDetector
from detect_secrets.plugins.square_oauth import SquareOAuthDetector
from detect_secrets.plugins.stripe import StripeDetector
from detect_secrets.plugins.telegram_token import TelegramBotTokenDetector
from detect_secrets.plugins.twilio import TwilioKeyDetector

from ctxeng.harness.privacy.found import Found
from ctxeng.harness.privacy.pseudonyms import PSEUDONYM

MIN_REMEMBERED = 8
_PEM = re.compile(
    r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----.*?"
    r"(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\Z)",
    re.DOTALL,
)
_BEARER = re.compile(r"\b[Bb]earer\s+([A-Za-z0-9._~+/-]{20,}=*)")
_KEYWORD = re.compile("|".join(DENYLIST), re.IGNORECASE)
_SAID = re.compile(
    r"(?:pass(?:word|phrase|code)|\bpass\b|pwd|(?:access |api |auth )?token"
    r"|(?:api|access|secret)[ _-]?key|secret|contraseña"
    r"|パスワード|パスコード|トークン|シークレット|(?:API|アクセス)\s?キー"
    r"|비밀번호|비번|암호|토큰|시크릿|(?:API|액세스)\s?키|密码|口令|密钥)"
    r"\w{0,12}?[\"'`”」』\]]{0,2}\s*"
    r"(?:is|was|will be|to|es|:=|[:=：＝]|は、?|が|を|는|은|가|를|是|为)?\s*"
    r"[\"'`“「『(（]{0,2}(?P<value>[!-~]{8,200})",
    re.IGNORECASE,
)
_TRAILING = "\"'`,;:.?)]}>"
_JWT_REST = re.compile(r"[\w.+/=-]*", re.ASCII)
_EXAMPLES = frozenset(
    ["password", "string", "secret", "required", "changeme", "undefined", "example", "token"]
)
_WORD = re.compile(r"[A-Za-z0-9_.~+/=!@#$%^&*-]{8,}")
_CODE = re.compile(r"[(){}<>\[\]]|\$\w|://|^[\w.-]*\.\w{1,5}$|^\d[\d.:,/-]*$|^\*+$")


class _LaterTokens(RegexBasedDetector):
    """Token shapes that the library does not know."""

    secret_type = "Later Token"
    denylist = (
        re.compile(r"(?<!\w)sk-(?:ant|proj|svcacct|or)-[A-Za-z0-9_-]{20,}"),
        re.compile(r"(?<!\w)github_pat_[A-Za-z0-9_]{22,}"),
        re.compile(r"(?<!\w)AIza[0-9A-Za-z_-]{35}"),
        re.compile(r"(?<!\w)hf_[A-Za-z0-9]{30,}"),
        re.compile(r"(?<!\w)[rs]k_test_[0-9a-zA-Z]{24,}"),
        re.compile(r"(?<!\w)xapp-\d-[A-Za-z0-9-]{20,}"),
    )


_SHAPES: tuple[Any, ...] = tuple(
    plugin()
    for plugin in (
        ArtifactoryDetector, AWSKeyDetector, AzureStorageKeyDetector, BasicAuthDetector,
        CloudantDetector, DiscordBotTokenDetector, GitHubTokenDetector, GitLabTokenDetector,
        IbmCloudIamDetector, JwtTokenDetector, MailchimpDetector, NpmDetector, OpenAIDetector,
        PypiTokenDetector, SendGridDetector, SlackDetector, SquareOAuthDetector, StripeDetector,
        TelegramBotTokenDetector, TwilioKeyDetector, _LaterTokens,
    )
)  # fmt: skip
"""Detectors by shape. Left out: those by entropy (hashes in code are no secrets) and public IPs."""
_BY_KEYWORD: Any = KeywordDetector()


class SecretDetector:
    """Finds keys, tokens and passwords, and remembers them.

    A password is told by the words before it; where it stands alone later, only memory knows it.
    """

    def __init__(self) -> None:
        self.remembered: set[str] = set()

    def find(self, text: str) -> Iterator[Found]:
        """Yield keys and tokens by shape, passwords by their keyword, and remembered values."""
        for match in _PEM.finditer(text):
            yield _found(match.start(), match.end(), match.group())
        unnamed = PSEUDONYM.sub(lambda match: "\ufffd" * len(match.group()), text)
        for value in dict.fromkeys(self._values(unnamed)):
            if "\ufffd" in value:
                continue
            if _is_telling(value):
                self.remembered.add(value)
            yield from _everywhere(value, text)
        if self.remembered:
            yield from self._again(text)

    def _values(self, text: str) -> Iterator[str]:
        for plugin in _SHAPES:
            for value in _shaped(plugin, text):
                if len(value) >= 4 and not _is_placeholder(value):
                    yield value
        yield from (match[1] for match in _BEARER.finditer(text))
        for match in _SAID.finditer(text):
            value = match["value"].split("\\n")[0].rstrip(_TRAILING)
            value = re.split(r"[\"'`]", value, maxsplit=1)[0]
            if _is_telling(value) and not _is_placeholder(value):
                yield value
        if _KEYWORD.search(text):
            yield from _quoted(text)

    def _again(self, text: str) -> Iterator[Found]:
        for match in _WORD.finditer(text):
            for word in {match.group(), match.group().strip("._~+/=!@#$%^&*-")}:
                if word in self.remembered:
                    start = match.start() + match.group().index(word)
                    yield _found(start, start + len(word), word)


def _shaped(plugin: Any, text: str) -> Iterator[str]:
    """Yield what a detector finds, whole.

    The library gives a prefix alone where a pattern has it in a group, and a JSON Web Token
    without its signature.
    """
    if isinstance(plugin, GitHubTokenDetector | GitLabTokenDetector):
        for pattern in plugin.denylist:
            yield from (match.group() for match in pattern.finditer(text))
        return
    for value in plugin.analyze_string(text):
        if isinstance(plugin, JwtTokenDetector):
            rest = _JWT_REST.match(text, text.index(value) + len(value))
            yield value + (rest.group() if rest else "")
        else:
            yield value


def _quoted(text: str) -> Iterator[str]:
    """Yield the quoted values that the library's keyword detector finds, line by line."""
    for line in text.splitlines():
        if not _KEYWORD.search(line):
            continue
        for value in _BY_KEYWORD.analyze_string(line):
            if len(value) >= 6 and not re.search(r"\s", value) and not _is_code(value):
                yield value


def _is_code(value: str) -> bool:
    """Return whether a quoted value is a name, a template or a call instead of a secret."""
    return _is_placeholder(value) or value.lower() in _EXAMPLES


def _is_placeholder(value: str) -> bool:
    return bool(
        heuristic.is_templated_secret(value)
        or heuristic.is_sequential_string(value)
        or heuristic.is_indirect_reference(value)
        or _CODE.search(value)
        or len(set(value)) < 4
    )


def _is_telling(value: str) -> bool:
    """Return whether a value cannot be an ordinary word: letters with digits, eight or more."""
    return (
        len(value) >= MIN_REMEMBERED
        and any(ch.isalpha() for ch in value)
        and any(ch.isdigit() for ch in value)
    )


def _everywhere(value: str, text: str) -> Iterator[Found]:
    start = text.find(value)
    while start >= 0:
        yield _found(start, start + len(value), value)
        start = text.find(value, start + len(value))


def _found(start: int, end: int, value: str) -> Found:
    return Found(kind="secret", start=start, end=end, identity=value)
