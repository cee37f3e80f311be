"""Names of people from a list: every way of writing one gets the same pseudonym."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from ctxeng.core.errors import DatasetError
from ctxeng.harness.privacy.found import Found
from ctxeng.harness.sessions.text import decode

_LATIN = r"A-Za-z\u00c0-\u024f"


class NameDetector:
    """Finds the names of a list.

    One word in Latin script is found as it is written and in capitals (``Mark``, not ``mark``);
    names of several words in any case. Latin names stand between other characters than letters;
    Chinese, Japanese and Korean names are found anywhere, since their words have no borders.
    """

    def __init__(self, people: Mapping[str, str]) -> None:
        """Take ways of writing, each with what identifies the person."""
        self._exact = {form: person for form, person in people.items() if " " not in form}
        self._exact |= {
            form.upper(): person for form, person in self._exact.items() if len(form) > 3
        }
        self._folded = {f.casefold(): person for f, person in people.items() if " " in f}
        self._one_word = _pattern(self._exact, flags=0)
        self._several = _pattern(self._folded, flags=re.IGNORECASE)

    def find(self, text: str) -> Iterator[Found]:
        """Yield every name of the list."""
        for pattern, people, folded in (
            (self._several, self._folded, True),
            (self._one_word, self._exact, False),
        ):
            for match in pattern.finditer(text) if pattern else ():
                written = re.sub(r"\s+", " ", match.group())
                person = people.get(written.casefold() if folded else written)
                if person is not None:
                    yield Found(kind="name", start=match.start(), end=match.end(), identity=person)


def read_names(path: Path) -> dict[str, str]:
    """Return ways of writing names with the person each belongs to.

    The file has a person a line, ways of writing separated by commas: ``Hanako Sato, 佐藤花子``.
    Lines that begin with ``#`` are comments.

    Raises:
        DatasetError: the file cannot be read, a name is one character, or two people share one.
    """
    try:
        text = decode(path.read_bytes(), where=str(path))
    except OSError as error:
        raise DatasetError(
            f"a list of names must be readable, got {path} ({error.strerror or error})."
        ) from None
    people: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        forms = [" ".join(form.split()) for form in re.split("[,、，]", line.split("#")[0])]
        forms = [form for form in forms if form]
        for form in forms:
            if len(form) < 2:
                raise DatasetError(
                    f"a name must have two characters or more, got one ({path}:{number}). "
                    "It would be found in ordinary words."
                )
            if people.setdefault(form, forms[0]) != forms[0]:
                raise DatasetError(
                    f"a name must belong to one person, got one twice ({path}:{number}). "
                    "Join the two lines, or remove it from one."
                )
    return people


def _pattern(names: Mapping[str, str], *, flags: int) -> re.Pattern[str] | None:
    if not names:
        return None
    longest_first = sorted(names, key=len, reverse=True)
    return re.compile("|".join(_bordered(name) for name in longest_first), flags)


def _bordered(name: str) -> str:
    written = r"\s+".join(re.escape(word) for word in name.split(" "))
    head = rf"(?<![{_LATIN}])" if re.match(f"[{_LATIN}]", name[0]) else ""
    tail = rf"(?![{_LATIN}])" if re.match(f"[{_LATIN}]", name[-1]) else ""
    return head + written + tail
