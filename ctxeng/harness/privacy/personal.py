"""Personal data by its shape: addresses, telephone, card and account numbers, users' folders."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator

import phonenumbers
from phonenumbers import Leniency, PhoneNumberMatcher
from stdnum import iban, luhn

from ctxeng.harness.privacy.found import Found
from ctxeng.harness.privacy.pseudonyms import PSEUDONYM

_EMAIL = re.compile(
    r"(?<![\w.+%-])(?P<local>[\w.+%-]{1,64})[@＠](?P<domain>(?:[A-Za-z0-9-]+\.)+[A-Za-z]{2,24})"
    r"(?![A-Za-z0-9])",
    re.ASCII,
)
_FILE_ENDINGS = frozenset(
    ["png", "jpg", "jpeg", "gif", "svg", "webp", "js", "ts", "css", "json", "md", "py", "sh"]
)
# Source: RFC 2606, top-level domains that nobody can hold.
_RESERVED_ENDINGS = frozenset(["example", "invalid", "test"])
_NOT_MAIL = _FILE_ENDINGS | _RESERVED_ENDINGS
_TOOL_USERS = frozenset({"git", "hg", "svn"})
_IN_ADDRESS = re.compile(r"://[^\s/@]*:$")  # https://user:password@host
_CARD = re.compile(r"(?<![\w.-])\d(?:[ -]?\d){12,18}(?![\w-]|\.\d)", re.ASCII)
# Source: ISO/IEC 7812 issuer ranges of Visa, Mastercard, American Express, Discover, JCB, Diners
# and UnionPay.
_ISSUER = re.compile(r"4|5[1-5]|2(?:2[2-9]|[3-6]|7[01]|720)|3[47]|35|36|30[0-5]|38|6011|65|62")
_IBAN = re.compile(r"(?<![A-Za-z0-9])[A-Z]{2}\d{2}(?: ?[A-Z0-9]){11,30}", re.ASCII)
_IPV4 = re.compile(r"(?<![\w.-])\d{1,3}(?:\.\d{1,3}){3}(?![\w-]|\.\d)", re.ASCII)
_IPV6 = re.compile(r"(?<![\w:.])(?:[0-9A-Fa-f]{0,4}:){2,7}[0-9A-Fa-f]{0,4}(?![\w:])", re.ASCII)
_PREFIX = re.compile(r"/\d{1,3}\b", re.ASCII)
_VERSION = re.compile(
    r"(?:[=~<>!]=|\b(?:v|ver|version|release|build|section|firmware|oid|chapter)\.?|§"
    r"|バージョン|版|버전|[A-Za-z]/)[\s:：は]*$",
    re.IGNORECASE,
)
_RESOLVERS = frozenset({"8.8.8.8", "8.8.4.4", "1.1.1.1", "1.0.0.1", "9.9.9.9"})
_NUMBER = re.compile(r"\+?\(?\d[\d\s().\-−‐–／/ー]{5,}\d")
_CALLED = re.compile(
    r"(?:phone|tel|call|mobile|cell|fax|whatsapp|sms|電話|携帯|連絡先|전화|연락처|휴대폰|핸드폰"
    r"|电话|手机)[^\d+]{0,20}$",
    re.IGNORECASE,
)
_NOT_CALLED = re.compile(
    r"(?:order|invoice|ticket|ref|id|isbn|serial|case|sku|receipt|no\.|#|№|version"
    r"|注文|伝票|番号|型番|주문|송장|접수)[^\d+]{0,12}$",
    re.IGNORECASE,
)
_ASIAN_MOBILE = re.compile(r"0[789]0\d{8}|01[016789]\d{7,8}")
_DATED = re.compile(
    r"(?:19|20)\d\d([-/.])(?:0[1-9]|1[0-2])\1(?:0[1-9]|[12]\d|3[01])(?!\d)", re.ASCII
)
_IN_NAME = re.compile(r"[A-Za-z]\w*[-_]$", re.ASCII)  # part-0231-00042
_SEPARATOR = re.compile(r"[\s().\-−‐–／/ー]")
_HOME = re.compile(
    r"(?<![\w.~])(?:/mnt)?(?:/[a-z])?/(?:home|Users)/(?P<user>[^/\s\"'`<>:;,|*?\\(){}\[\]]+)"
)
_WINDOWS = re.compile(
    r"\b[A-Za-z]:(?:\\{1,2}|/)(?:Users|Documents and Settings)(?:\\{1,2}|/)"
    r"(?P<user>[^\\/:*?\"<>|\r\n]{1,64})(?=[\\/]|$|[\"'`>])"
)
_SLUG = re.compile(r"(?<![\w-])-(?:home|Users)-(?P<user>[A-Za-z0-9_.]+)(?=-)")
_NOBODY = frozenset(
    [
        "user",
        "users",
        "username",
        "you",
        "your-name",
        "yourname",
        "name",
        "me",
        "public",
        "shared",
        "default",
        "guest",
        "root",
        "admin",
        "runner",
        "ubuntu",
        "debian",
        "node",
        "app",
        "vscode",
        "ec2-user",
        "circleci",
        "build",
        "linuxbrew",
        "jenkins",
        "web",
        "www",
        "all",
        "users",
    ]
)
_ROUTE = re.compile(r"\b(?:GET|POST|PUT|PATCH|DELETE|HEAD|href=[\"']?|path=[\"']?|to=[\"']?)\s*$")


class EmailDetector:
    """Finds e-mail addresses; ``git@host``, ``icon@2x.png`` and ``a@b.example`` are none."""

    def find(self, text: str) -> Iterator[Found]:
        """Yield every address."""
        if "@" not in text and "＠" not in text:
            return
        for match in _EMAIL.finditer(text):
            ending = match["domain"].rsplit(".", 1)[1].lower()
            if match["local"].lower() in _TOOL_USERS or ending in _NOT_MAIL:
                continue
            if _IN_ADDRESS.search(text, max(0, match.start() - 80), match.start()):
                continue
            identity = f"{match['local']}@{match['domain']}".casefold()
            yield Found(kind="email", start=match.start(), end=match.end(), identity=identity)


class CardDetector:
    """Finds payment card numbers: an issuer's range, 13 to 19 digits, and the Luhn check digit."""

    def find(self, text: str) -> Iterator[Found]:
        """Yield every card number."""
        for match in _CARD.finditer(text):
            digits = re.sub(r"\D", "", match.group())
            if _ISSUER.match(digits) and len(set(digits)) > 1 and luhn.is_valid(digits):
                yield Found(kind="card", start=match.start(), end=match.end(), identity=digits)


class IbanDetector:
    """Finds IBANs: country, its own length and structure, and the check digits mod 97."""

    def find(self, text: str) -> Iterator[Found]:
        """Yield every IBAN; words in capitals behind it are not part of it."""
        for match in _IBAN.finditer(text):
            written = match.group()
            for end in range(len(written), 14, -1):
                if written[end - 1] != " " and iban.is_valid(written[:end], check_country=False):
                    identity = iban.compact(written[:end])
                    start = match.start()
                    yield Found(kind="iban", start=start, end=start + end, identity=identity)
                    break


class IpDetector:
    """Finds IP addresses of machines; versions, loopback, masks and public resolvers are none.

    Nor is a private network, ``10.44.3.0/26``: it is the same in a thousand offices.
    """

    def find(self, text: str) -> Iterator[Found]:
        """Yield every address."""
        for pattern in (_IPV4, _IPV6):
            for match in pattern.finditer(text):
                before = text[max(0, match.start() - 16) : match.start()]
                address = _machine(match.group())
                if address and not (_VERSION.search(before) or _is_network(match)):
                    yield Found(kind="ip", start=match.start(), end=match.end(), identity=address)


class PhoneDetector:
    """Finds telephone numbers that libphonenumber holds to be in use somewhere.

    A number is known by what follows the country's code, which the words around it would decide:
    a probe's value stands alone.
    """

    def find(self, text: str) -> Iterator[Found]:
        """Yield every number; digits in a row need a word for telephone before them."""
        if not _NUMBER.search(text):
            return
        seen: set[int] = set()
        for region in _regions(text):
            matcher = PhoneNumberMatcher(text, region, leniency=Leniency.VALID, max_tries=10_000)
            for match in matcher:
                if match.start not in seen and _is_called(text, match.start, match.raw_string):
                    seen.add(match.start)
                    identity = phonenumbers.national_significant_number(match.number)
                    yield Found(kind="phone", start=match.start, end=match.end, identity=identity)


class UserPathDetector:
    """Finds the user's name in paths of home folders; the rest of the path is kept."""

    def find(self, text: str) -> Iterator[Found]:
        """Yield every user name."""
        for pattern in (_HOME, _WINDOWS, _SLUG):
            for match in pattern.finditer(text):
                user = match["user"].rstrip(".!。、")
                before = text[max(0, match.start() - 12) : match.start()]
                if _is_person(user) and not _ROUTE.search(before):
                    start = match.start("user")
                    yield Found(kind="user", start=start, end=start + len(user),
                                identity=user.casefold())  # fmt: skip


def _machine(text: str) -> str | None:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    if address.is_loopback or address.is_unspecified or address.is_multicast:
        return None
    if address.version == 4:
        nobody = text.startswith(("255.", "0.")) or text in _RESOLVERS
        return None if nobody else str(address)
    groups = [group for group in text.split(":") if group]
    is_written = len(groups) >= 3 and any(ch.isdigit() for group in groups for ch in group)
    return str(address) if is_written else None


def _is_network(match: re.Match[str]) -> bool:
    length = _PREFIX.match(match.string, match.end())
    try:
        network = ipaddress.ip_network(match.group() + (length.group() if length else ""))
    except ValueError:  # bits of a host are set
        return False
    return network.is_private and network.num_addresses > 1


def _regions(text: str) -> tuple[str, ...]:
    """Return the countries whose national numbers a text may hold, by its script."""
    if re.search(r"[\uac00-\ud7a3]", text):
        return ("KR", "US")
    if re.search(r"[\u3040-\u30ff]", text):
        return ("JP", "US")
    if re.search(r"[\u4e00-\u9fff]", text):
        return ("CN", "JP")
    return ("US", "GB", "JP", "KR")


def _is_called(text: str, start: int, raw: str) -> bool:
    before = text[max(0, start - 32) : start]
    if _DATED.match(raw):
        return False
    if raw.startswith("+") or _CALLED.search(before):
        return True
    if _NOT_CALLED.search(before) or _IN_NAME.search(before):
        return False
    return bool(_SEPARATOR.search(raw) or _ASIAN_MOBILE.fullmatch(raw))


def _is_person(user: str) -> bool:
    plain = user.casefold()
    return bool(
        plain
        and plain not in _NOBODY
        and not PSEUDONYM.fullmatch(user)
        and not user.startswith(("$", "%", ".", "-"))
        and any(ch.isalpha() for ch in user)
    )
