"""Names from files as a terminal may have them: nothing in them moves the cursor or turns the text round."""

from __future__ import annotations

import unicodedata

# Control characters and breaks of lines; marks that turn the direction of what follows.
_CONTROLS = ("Cc", "Zl", "Zp")
_TURNS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def printable(text: str) -> str:
    """Return the text with control characters written out, for example an escape as backslash, x1b."""
    if text.isprintable():
        return text
    return "".join(_written(character) for character in text)


def _written(character: str) -> str:
    if unicodedata.category(character) in _CONTROLS or character in _TURNS:
        return character.encode("unicode_escape").decode()
    return character
