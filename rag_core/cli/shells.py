"""What a shell is told when it completes a word: names, written so that it reads them back as they are and
runs nothing in them."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ShellComplete,
    ZshComplete,
    add_completion_class,
)

_OPTION = re.compile(r"-[\w-]+=")
_FREE = re.compile(r"[\w@%+=:,./-]")
_CLOSED_FOR = {"'": "'", '"': '"$`\\!'}
"""What cannot stand between these quotes, or means something there."""


@dataclass(frozen=True, slots=True)
class _Word:
    """A word as it is written, what it says, and the quote that is open at its end."""

    written: str = ""
    said: str = ""
    quote: str = ""


class Bash(BashComplete):
    """As click's, but for names that a shell takes apart, and for words that bash takes apart.

    bash puts what is found behind the last of ``COMP_WORDBREAKS`` in a word, or behind its open quote. So
    COMP_WORDS is the line up to the cursor, and COMP_CWORD the part of its last word that is replaced.
    """

    source_template = """\
%(complete_func)s() {
    local item
    COMPREPLY=()
    while IFS= read -r item; do
        case $item in
            dir,*) compopt -o dirnames ;;
            file,*) compopt -o default ;;
            plain,*) COMPREPLY+=("${item#plain,}") ;;
        esac
    done < <(env COMP_WORDS="${COMP_LINE:0:COMP_POINT}" COMP_CWORD="$2" %(complete_var)s=bash_complete "$1")
}

complete -o nosort -F %(complete_func)s %(prog_name)s
"""

    def complete(self) -> str:
        """A line for each word that fits, with its kind."""
        *before, last = _words(os.environ["COMP_WORDS"])
        stays = max(0, len(last.written) - len(os.environ["COMP_CWORD"]))
        option = _OPTION.match(last.said)
        name, start = (option[0], last.written.index("=") + 1) if option else ("", 0)
        given = [each.said for each in before[1:]] + ([name[:-1]] if name else [])
        kept = _words(last.written[: max(start, stays)])[-1]
        front, there = last.written[stays:start], len(kept.said) - len(name)
        return "\n".join(
            f"{item.type},{front}{_behind(kept, item.value[there:])}"
            for item in self.get_completions(given, last.said[len(name) :])
        )


class _WholeWords(ShellComplete):
    """Of a shell that replaces whole words: a value needs the option before it (``--store=notes``)."""

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem]:
        """As click does it, with that option."""
        found = super().get_completions(args, incomplete)
        if option := _OPTION.match(incomplete):
            for each in found:
                each.value = f"{option[0]}{each.value}"
        return found


class Zsh(_WholeWords, ZshComplete):
    """As click's, but for an option and its value in one word."""


class Fish(_WholeWords, FishComplete):
    """As click's, but for that, too, and for names with a comma."""

    source_template = FishComplete.source_template.replace("string split ", "string split --max 1 ")


SHELLS: dict[str, type[ShellComplete]] = {"bash": Bash, "zsh": Zsh, "fish": Fish}
for _shell in SHELLS.values():
    add_completion_class(_shell)


def _behind(kept: _Word, text: str) -> str:
    """``text`` as bash is to put it behind what is kept of a word."""
    quote = kept.quote
    if not quote:
        return "".join(char if _FREE.match(char) or ord(char) > 127 else f"\\{char}" for char in text)
    closed_for = _CLOSED_FOR[quote]
    found = "".join(f"{quote}\\{char}{quote}" if char in closed_for else char for char in text)
    # bash puts no quote behind one, and none before one
    before = quote if found.startswith(quote) and kept.written.endswith(quote) else ""
    return before + found + (quote if found.endswith(quote) else "")


def _words(line: str) -> list[_Word]:
    """The words of a command up to the cursor; the last is the one that is being written."""
    words, written, said, quote, is_escaped = [], "", "", "", False
    for char in line:
        if char.isspace() and not quote and not is_escaped:
            if written:
                words.append(_Word(written, said))
            written = said = ""
            continue
        written += char
        if is_escaped:
            said += char if not quote or char in '$`"\\' else f"\\{char}"
            is_escaped = False
        elif char == "\\" and quote != "'":
            is_escaped = True
        elif char == quote or (not quote and char in "'\""):
            quote = "" if quote else char
        else:
            said += char
    return [*words, _Word(written, said, quote)]
