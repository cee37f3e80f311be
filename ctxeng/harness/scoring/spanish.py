"""Spanish words beside a value: denial, and someone's relation.

None of these decides; each sends the answer to the judge. All work on the normal form of a text.
"""

from __future__ import annotations

import re

from ctxeng.harness.scoring.matching import Found

_ENDS = r"[aoóeéí]\w{0,4}"
_DENIAL_BEFORE = re.compile(
    r"\b(?:sin|nada de|ning[uú]n\w*|jam[aá]s|nunca|tampoco|ni|no|excepto|salvo|menos|en vez del?"
    r"|en lugar del?|fuera del?|aparte del?|a excepci[oó]n de|lejos de|dej\w+ del?|antes|ya no"
    r"|al principio|originalmente|anteriormente|hasta ahora"
    rf"|quit(?:ar|ó|aron|amos)|(?:odi|detest|evit|rechaz|descart|cancel|elimin|prohib"
    rf"|exclu|sustitu|reemplaz|cambi"
    rf"|abandon|renunci|desech|olvid){_ENDS}|vet[oó]|neg[oó])\s[^.,;!?]{{0,30}}$"
)
_DENIAL_AFTER = re.compile(
    r"^,? no(?=[.,!]|$)|^(?:[^.;!?]{0,40})\b(?:no (?:me|le|les|nos|te|se|lo|la|es|era|fue|va"
    r"|vale|gusta|sirve|quier\w+|hay)|jam[aá]s|nunca|tampoco"
    r"|ya no|descartad[oa]|rechazad[oa]|cancelad[oa]"
    r"|prohibid[oa]|eliminad[oa]|excluid[oa]|sustituid[oa]|reemplazad[oa]|vetad[oa]|fuera|antes"
    r"|disgusta|odi[aoó]\w*|detest\w+|cambi[oó]|pero|aunque|sin embargo|luego|despu[eé]s|ahora"
    r"|al final|finalmente)\b"
)
_CONTRASTED = re.compile(r"\bno\b.{1,40}\bsino\b")  # no es verde sino azul
_RELATION = re.compile(r"\b(?:el|la|los|las|un|una|su|mi)s?\s\w+ del? $|\b(?:a|con|para|por) $")


def is_denied(shown: str, place: Found) -> bool:
    """Return whether a value is denied, given up, left out or told to be of the past."""
    before, after = _CONTRASTED.sub(" ", shown[: place.start]), shown[place.end :]
    return bool(_DENIAL_BEFORE.search(before[-60:]) or _DENIAL_AFTER.search(after))


def denies(text: str) -> bool:
    """Return whether a value (normal form) is itself a denial: ``sin azúcar``."""
    return bool(re.search(r"\b(?:sin|no|ni|nunca|jam[aá]s|nada|menos|excepto|evitar)\b", text))


def is_of_someone_else(shown: str, place: Found) -> bool:
    """Return whether a name is whom something is done to, or whose relation: la hermana de Ana."""
    return bool(_RELATION.search(shown[: place.start][-40:]))
