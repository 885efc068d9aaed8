"""The sentences that the program shows to people, by code. ``ui/frame/messages.py`` replaces some of them for
pages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from string import Formatter
from typing import Any


@dataclass(frozen=True, slots=True)
class Message:
    """A sentence of the program. ``str(message)`` returns the sentence."""

    code: str  #: The key of its sentence in `TEXTS`.
    #: The values for the gaps in the text, by name.
    data: Mapping[str, MessageValue] = field(default_factory=dict, hash=False)

    def __str__(self) -> str:
        return message_text(TEXTS, self.code, self.data)

    def __bool__(self) -> bool:
        return bool(str(self))


MessageValue = str | int | float | Message | tuple[str, ...] | tuple[Message, ...]


def say(code: str, /, **data: MessageValue) -> Message:
    """Create the message ``code``. ``data`` are the values for the gaps in its sentence, by name."""
    return Message(code, data)


def message_text(texts: Mapping[str, str], code: str, data: Mapping[str, Any]) -> str:
    """Return the sentence for a code. In it, ``{count:file}`` becomes *2 files*, and ``{names:store}``
    becomes *stores 'a', 'b'*."""
    return _FORMATTER.vformat(texts[code], (), data).strip()


class _WithNouns(Formatter):
    def format_field(self, value: Any, spec: str) -> str:
        if isinstance(value, tuple):
            named = f"{spec}{'s' * (len(value) > 1)} {', '.join(map(repr, value))}"
            return named if spec else " ".join(map(str, value))
        if isinstance(value, int) and spec.isalpha() and len(spec) > 1:
            return f"{value:,} {spec}{'s' * (value != 1)}"
        return format(value if spec else str(value), spec)


_FORMATTER = _WithNouns()

TEXTS = {
    "": "{text}",
    "error": "{message} {next}",
    "add_folder": "Add its folder on the Index page, or with `commonplace init FOLDER --store NAME`.",
    "ask_amazon": "Check the connection to Amazon with `commonplace connections --all`.",
    "ask_file_in_it": "Ask about a file in it.",
    "check_file": "Check that the file is there and that this user may read it.",
    "edit_exclude": (
        "Edit the folder: `commonplace source edit {number} --store {store} --no-exclude` removes its exclude"
        " patterns; `--exclude PATTERN` in its place keeps those that you name."
    ),
    "fix_file": "Fix the file, then index again.",
    "heal_vectors": "`commonplace verify --store NAME --heal` creates it again.",
    "include": "Include the file again on the Files page, or with `{command}`.",
    "include_pattern": "Add a pattern that names the file on the Index page, or with `{command}`.",
    "index": "Index the store on the Index page, or with `commonplace index --store {store}`.",
    "install_model": "Install the model on the Index page, or with `commonplace model install {model}`.",
    "make_store": "Create a store on the Index page, or with `commonplace init FOLDER`.",
    "move_file": "Move or rename the file.",
    "save_document": "Save it from its program in a format that is read, such as DOCX, XLSX or PDF.",
    "one_of": "Ask about one of them: {paths}.",
    "in_cloud": "Open the file once in its own program, or set `cloud_files` to `read`; then index again.",
    "not_a_document": "Commonplace does not read this kind of file, or found no text in it.",
    "pull_model": "Run `commonplace connections pull {model}`.",
    "read_again": "Read the file again on the Files page, or with `{command}`.",
    "replace_file": "Choose another name, or replace it with --force.",
    "resume_folder": "Resume it on the Index page, or: `commonplace source resume {number} --store {store}`.",
    "add_folder_again": "Add the folder again.",
    "spelling": "Check the spelling, or give its whole path.",
    "tried_again": "It is found by its words; the next run tries again.",
    "words_only": "Only words are searched in {stores:store}. {reason} {next}",
    "min_score": "The best score is {best:g}, below the minimum of {least:g} (min_score).",
    "not_reranked": "The reranker failed, so the results are in their usual order. {reason}",
    "gone": "{count:passage} left out, as the file is gone.",
    "long_query": "The query has {length:,} characters; its beginning and its rarest words are searched.",
    "or_between": (
        "OR works between two plain words and between filters of one kind. {before!r} and {after!r} are both"
        " searched."
    ),
    "bar": "| is not searched. If either of two words will do, write OR between them.",
    "group": "OR joins the two words next to it, so the words of {group!r} are not taken together.",
    "near": "{operator!r} is no operator here and was not searched. Quotes find neighbouring words.",
    "not_left_out": "{word!r} is searched as a word. To leave it out, write {instead!r}.",
    "star": (
        "{word!r} is searched as {instead!r}. Longer words that begin with a word are found, but not words"
        " that end with it."
    ),
    "max_tokens": "The best passage has {tokens:,} tokens, more than {limit:,} (max_tokens).",
    "no_match": "No document matches these filters.",
    "unknown_value": "No document in {stores:store} {lacks} {value!r}. {hints}",
    "unknown_property": "No note has the property {name!r}. {hints}",
    "no_pages": "Notes, text and code have no pages, only lines.",
    "did_you_mean": "Did you mean {value!r}?",
    "there_are": "There are: {values}.",
    "skipped_type": "{count:file} of this type: skipped, as nothing in them could be read.",
    "first_folder": "Paths in the folder {root!r} are written without its name: leave it out.",
    "reversed_dates": "'after' must be earlier than 'before'.",
    "no_such_days": "No document in {stores:store} is dated {days}. {known}",
    "known_days": "The dates go from {first} to {last}.",
    "corrected": "No passage has the word {word!r}, so {meant!r} was searched. Quotes keep a word as it is.",
    "too_new": "{count:passage} not indexed by meaning yet; what you look for may be among them.",
    "failed_file": "{path!r} could not be read: {reason}",
    "too_narrow": "Without the filters something fits: {count:passage}.",
    "private_kept": "Passages of private notes fit, too. They were not sent to the model at {host}.",
    "question_cut": "The model gets the first {given:,} of {length:,} characters of the question.",
    "pending_guest": "Meaning is still being indexed: {count:passage} to go.",
    "answer_cut": "The answer was cut off after {limit}. The setting `{setting}` allows more.",
    "no_answer": "The model that answers questions is not available now.",
    "in_folder": "It is in the folder {folder!r} of store {store!r}.",
    "outside": "No folder of store {store!r} contains this file. The folders of the store: {folders}.",
    "no_file": "There is no file {path!r} in the folders of store {store!r}: {folders}. {hint}",
    "several": "Several files of store {store!r} are called {path!r}.",
    "folder": "This is a folder; only files are found.",
    "not_read": "It was not read yet.",
    "chosen": "The folder's patterns include it.",
    "paused": "The folder is paused: changes in it are not read until you resume it.",
    "kept": "{reason} {meanwhile}",
    "found_until_run": "It can be found until the next run.",
    "forgotten_by_run": "The next run removes it from the index.",
    "still_found": "Its indexed text can still be found.",
    "folder_removed": "The folder is being removed from the store.",
    "excluded": "It is excluded. {reason}",
    "became_folder": "A folder has this name now.",
    "skipped_by_rule": "The folder's rules leave it out. {reason}",
    "failed": "It could not be read: {reason}",
    "failed_kept": "It could not be read: {reason} The last readable version is still searchable.",
    "skipped": "It was skipped: {reason} Only its name can be found.",
    "only_named": "It is not read yet; until then it is found by its name.",
    "read": "It was read as {type}{by} on {when}.",
    "picture_waits": "It is a picture whose text is not read yet. Until then it is found by its name.",
    "pictures_left": "The text in {count:picture} of it is not read yet.",
    "empty_file": "The file is empty. It is found by its name only.",
    "changed": "The file has changed since it was read.",
    "other_reader": "Its reader has changed since. The next run reads it again, by {reader}.",
    "no_text": "It has no text to compare by meaning. It is found by its name.",
    "refused": "{count:passage} could not be embedded: {error}",
    "waiting": "{count:passage} not embedded yet: found by words only.",
    "other_script": "{count:passage} in a script that the model cannot read: found by words only.",
    "machine_text": (
        "{count:passage} of text that only programs read, such as base64: found by words, and only as a near"
        " miss."
    ),
    "no_embedder": "Nothing is found by meaning now. {error}",
    "by_meaning": "{count:passage} can be found by meaning.",
    "private": "It is private: only the owner finds it. {why}",
}
"""Code → sentence. The values in braces are the message's data."""
