"""Quotes of earlier mails and signatures are furniture: words and phrases find them, the rest is what a mail
says."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag_core.text.mail_history import history
from rag_core.types import OWNER
from tests.conftest import stores_of

HEAD = "Subject: {subject}\nFrom: ada@example.org\nTo: bob@example.org\nDate: Tue, 3 Mar 2026\n\n"
OUTLOOK = (
    ("From", "Sent", "To", "Subject"),
    ("Von", "Gesendet", "An", "Betreff"),
    ("De", "Envoyé", "À", "Objet"),
    ("De", "Enviado el", "Para", "Asunto"),
    ("Da", "Inviato", "A", "Oggetto"),
    ("Van", "Verzonden", "Aan", "Onderwerp"),
)
WROTE = (
    "On Tue, 3 Mar 2026 at 10:15, Ada <ada@example.org> wrote:",
    "Am 03.03.2026 um 10:15 schrieb Ada:",
    "Le 3 mars 2026 à 10:15, Ada a écrit :",
    "El mar, 3 mar 2026 a las 10:15, Ada escribió:",
    "Il giorno 3 mar 2026 Ada ha scritto:",
    "Op 3 mrt. 2026 schreef Ada:",
    "W dniu 3.03.2026 Ada napisał(a):",
    "3 марта 2026 г. Ада написала:",
    "2026年3月3日 Ada 写道:",
)


def hidden(text: str) -> str:
    return "".join(text[start:end] for start, end in history(text))


@pytest.mark.parametrize("names", OUTLOOK)
def test_all_below_the_head_of_an_earlier_mail_is_history(names: tuple[str, ...]) -> None:
    earlier = "\n".join(f"{name}: something" for name in names) + "\n\nThe old text.\n\nMore of it."
    text = HEAD.format(subject="Re: Roof") + f"The new text.\n\n{earlier}"
    assert hidden(text) == earlier


@pytest.mark.parametrize("introduction", WROTE)
def test_quoted_lines_and_what_introduces_them_are_history(introduction: str) -> None:
    quote = f"{introduction}\n\n> The old text.\n>\n> More of it.\n"
    text = HEAD.format(subject="Re: Roof") + f"Before it.\n\n{quote}\nAn answer below.\n"
    assert hidden(text).strip() == quote.strip()


@pytest.mark.parametrize("introduction", WROTE)
def test_an_introduction_without_signs_of_quoting_begins_the_rest(introduction: str) -> None:
    rest = f"{introduction}\nThe old text.\n\nMore of it."
    assert hidden(HEAD.format(subject="Roof") + f"The new text.\n\n{rest}") == rest


@pytest.mark.parametrize("subject", ["Fwd: Roof", "FW: Roof", "WG: Roof", "TR: Roof", "Re: Fwd: Roof"])
def test_a_forwarded_mail_is_kept(subject: str) -> None:
    text = HEAD.format(subject=subject) + "Look.\n\nFrom: Carl\nSent: Monday\nTo: Ada\n\n> The text."
    assert not history(text)


def test_a_signature_is_history_up_to_what_follows() -> None:
    text = HEAD.format(subject="Roof") + "The text.\n\n-- \nAda\nExample Ltd.\n\nA postscript."
    assert hidden(text) == "-- \nAda\nExample Ltd.\n"


@pytest.mark.parametrize(
    "body", ["They wrote: no.", "- From: here\n- Sent: there", "a > b", "--\tno", "3 > 2"]
)
def test_other_text_is_kept(body: str) -> None:
    assert not history(HEAD.format(subject="Roof") + f"The text.\n\n{body}\n\nEnd.")


def test_words_and_phrases_find_what_a_mail_quotes_but_it_is_not_shown(tmp_path: Path) -> None:
    mail = (
        "Subject: Re: Roof\nFrom: ada@example.org\nDate: Tue, 3 Mar 2026 10:15:00 +0000\n"
        "Content-Type: text/plain; charset=utf-8\n\nThe red tiles arrive on Friday.\n\n"
        "On Mon, 2 Mar 2026, Bob wrote:\n> Shall we take slate shingles?\n> They are grey.\n"
    )
    with stores_of(tmp_path, {"mail/roof.eml": mail}) as library:
        [by_phrase] = library.search(OWNER, '"slate shingles"', mode="lexical").hits
        [by_word] = library.search(OWNER, "shingles", mode="lexical").hits
        [own] = library.search(OWNER, "red tiles", mode="lexical").hits
    assert by_phrase.relevant
    assert by_word.document.path == "roof.eml"
    shown = "".join(
        letter
        for index, letter in enumerate(own.content)
        if not any(start <= index < end for start, end in own.hidden)
    )
    assert "red tiles" in shown
    assert "slate" not in shown
