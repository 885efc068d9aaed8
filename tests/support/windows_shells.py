"""What a program gets from a line that somebody pastes into cmd.exe or PowerShell: a reader for each.

A line that the shell would take for something else than one command is a ValueError.
"""

from __future__ import annotations

import re

DOUBLE, SINGLE = '"\u201c\u201d\u201e', "'\u2018\u2019\u201a\u201b"
"""What opens and closes a text in PowerShell."""


def arguments(line: str) -> list[str]:
    """Split a command line as programs in C and Python do (UCRT, "Parsing C command-line arguments")."""
    words: list[str | None] = [None]
    quoted, position = False, 0
    while position < len(line):
        character, step = line[position], 1
        if character == " " and not quoted:
            words.append(None)
        else:
            word = words[-1] or ""
            slashes = re.compile(r'(\\+)"').match(line, position) if words[:-1] else None  # not the program
            if slashes:
                count = len(slashes[1])
                character, step = count // 2 * "\\" + count % 2 * '"', count + count % 2
            elif quoted and line.startswith('""', position):
                step = 2
            elif character == '"':
                quoted, character = not quoted, ""
            words[-1] = word + character
        position += step
    if quoted:
        raise ValueError("a quote is not closed")
    return [word for word in words if word is not None]


def cmd(line: str, variables: dict[str, str]) -> list[str]:
    """Read a line as cmd.exe does when it is typed there."""
    line = re.sub("%([^%]+)%", lambda name: variables.get(name[1].upper(), name[0]), line)
    quoted = False
    for character in line:
        quoted ^= character == '"'
        if not quoted and character in "&|<>()^":
            raise ValueError(f"{character!r} is not quoted")
    return arguments(line)


def powershell(line: str, *, escapes: bool) -> list[str]:
    """Read a line as PowerShell does; ``escapes``: as since 7.3, which escapes quotes for a program."""
    if line[0] in DOUBLE + SINGLE + "@$":
        raise ValueError("a line that begins so is printed")
    words, position, line = [], 2 * line.startswith("& "), line + " "
    while position < len(line):
        word, position = _word(line, position)
        words.append(word)
        position += 1
    if escapes:
        return words
    return arguments(" ".join(f'"{word}"' if " " in word else word for word in words))


def _word(line: str, position: int) -> tuple[str, int]:
    """The word that begins at a position, and the position of the space after it."""
    if line[position] in DOUBLE + SINGLE:
        word, position = _text(line, position)
        if line[position] != " ":
            raise ValueError("a second word begins")
        return word, position
    if re.match(r"@|-[^ ]*[.:]", line[position:]):
        raise ValueError("such a word is taken apart")
    word = ""
    while line[position] != " ":
        if line[position] in DOUBLE + SINGLE:
            text, position = _text(line, position)
            word += text
        elif line[position] in "`$;|&(){}<>,#":
            raise ValueError(f"{line[position]!r} is not quoted")
        else:
            word, position = word + line[position], position + 1
    return word, position


def _text(line: str, position: int) -> tuple[str, int]:
    """The text in quotes that begins at a position, and the position after it."""
    quotes = DOUBLE if line[position] in DOUBLE else SINGLE
    text, position = "", position + 1
    while True:
        if line[position] in quotes:
            if line[position + 1] not in quotes:
                return text, position + 1
            position += 1
        elif quotes is DOUBLE and re.match(r"`|\$[\w{(?^$:]", line[position:]):
            raise ValueError(f"{line[position]!r} means something in double quotes")
        text, position = text + line[position], position + 1
