"""The signs of each language of markup, as patterns. The named groups of a pattern are roles of
`rag_core.text.other_markup`.

After an underscore in the name of a group stands a key that an opening sign and its closing sign share.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from rag_core.text.inline import INLINE_TAGS

LIGHT_MARKUP = frozenset("asciidoc man org rst texinfo textile tiddlywiki typst wiki".split())
"""File types of light markup other than Markdown, whose signs no program shows to a reader."""

_GAP = r"(?P<gap>\n[ \t]*(?=\n))"
_START = r"(?<![^\n])[ \t]{0,9}"  # of a line
_ADDRESS = r"(?<![^\s\[\]<>(*])(?:link:|xref:|mailto:|(?:https?|ftp)://)[^\s\[\]<>(*]{1,2000}+\["
# and the quotes and links of a wiki
_PLAIN = (
    r"(?P<pair>\*\*?(?!\*)|__?(?!_)|~~(?!~)|(?<!:)//(?!/))"
    r"|(?P<alone>'{2,5}(?=[\w\[])|(?<=[\w.,!?)\]])'{2,5}"
    r"|\[\[(?:[^\[\]|\n]{1,200}\|)?(?=\w)|(?<=[\w.!?)])\]\])"
    r"|(?P<tag>\[/?(?:[bius]|url|img|quote|code|size|color|font|center|spoiler)(?:=[^\[\]\n]{1,300})?\])"
)
_ORG = (
    r"(?P<alone>\[fn:[\w-]{1,40}\]|(?<![^\n])\*{1,9}[ ](?=\S)"
    r"|(?<![^\n])[ \t]{0,9}:PROPERTIES:[ \t]*\n(?:[ \t]{0,9}:(?!END:)[^\n]{0,300}\n){0,50}+[ \t]{0,9}:END:"
    r"|(?<![^\n])[ \t]{0,9}\#\+(?i:begin|end)_(?i:quote|verse|center)[^\n]*+|\\\\(?=[ \t]*\n)"
    r"|(?<=\S)[ ]\((?:https?|ftp)://[^\s()]{1,2000}\))"
    r"|(?P<aside_note>[ ]?\[fn:[\w-]{0,40}:[ ]?)|(?P<close_note>\])"
    r"|(?P<open>[_^]\{)|(?P<close>\})|(?P<pair>[*/_+])|(?P<code>[=~])"
)
_RST = (
    r"(?P<escape>\\[*`|_])|(?P<alone>(?<![^\n])[ \t]{0,9}\|[ ](?=\S)"
    r"|\\[ \n]|\[(?:\d{1,9}|[#*][\w-]{0,40}|[A-Za-z][\w.-]{0,40})\]_(?!\w))"
    r"|(?P<code>``)|(?P<open>:[\w.-]{1,40}:(?:[\w.-]{1,40}:)?`)|(?P<close>\s<[^<>`]{0,2000}>`_{0,2}"
    r"|(?<=\S)`_{1,2}(?!\w))"
    r"|(?P<pair>\*\*?(?!\*)|`)|(?P<name>(?<=\w)__?(?!\w))"
)
_ASCIIDOC = (
    r"(?P<aside>[ ]?footnote:[\w-]{0,40}\[)"
    rf"|(?P<open>{_ADDRESS}|(?:kbd|btn):\[|<<[^<>,\n]{{1,200}}+,[ ]?)"
    r"|(?P<close>(?:\^|,\w{1,20}=[^\[\]\n]{0,200})?\]|>>)"
    rf"|(?P<alone>\[\.?[\w-]{{1,40}}\](?=[#*_`])|{_START}={{1,6}}[ ](?=\S)|(?<![^\n])//(?!/)[^\n]*+"
    r"|(?<![^\n])(?:\[[^\[\]\n]{1,200}\]|-{4,}|={4,}|\.{4,}|\*{4,}|_{4,}|--|\+)[ \t]*(?![^\n])"
    r"|(?<![^\n])\.(?=[A-Z])|[ ]\+(?=\n)|\(\(\([^()\n]{1,200}\)\)\))"
    r"|(?P<open_round>\(\()|(?P<close_round>\)\))"
    r"|(?P<free>\*\*|__|``|\#\#|\^|~)|(?P<pair>[*_`\#])"
)
_SHAPES = (
    "emph text[a-z]{2,12} underline uline uwave sout mbox enquote title author caption"
    " (?:sub)*section chapter part (?:sub)?paragraph"
).replace(" ", "|")
_SWITCHES = (
    "hline toprule midrule bottomrule"
    " bf it em tt rm sf sl sc bfseries itshape scshape ttfamily sffamily rmfamily upshape normalfont noindent"
    " tiny small footnotesize normalsize large Large LARGE huge item par centering newline"
).replace(" ", "|")
_UNSEEN = "label index begin end vspace hspace cite[a-z]{0,8} Cite[a-z]{0,8} (?:page|eq)?ref".replace(
    " ", "|"
)
_TEX = (
    r"(?P<escape>\\[%&_\#${}])"
    r"|(?P<alone>\\[-,;:!/ \\]|~|``|''|---?|\\(?:La)?TeX(?![A-Za-z])(?:\{\})?|\\l?dots(?![A-Za-z])(?:\{\})?"
    rf"|\\(?:{_SWITCHES})(?![A-Za-z])[ \t]{{0,9}}"
    rf"|\\(?:{_UNSEEN})\*?(?:\[[^\[\]\n]{{0,200}}\])?\{{[^{{}}\n]{{0,200}}\}})"
    r"|(?P<aside>\\footnote\{)"
    rf"|(?P<open>\\(?:multicolumn\{{\d{{1,2}}\}}\{{[^{{}}\n]{{1,20}}\}}"
    rf"|(?:{_SHAPES})\*?|href\{{[^{{}}\n]{{0,2000}}\}})[ ]?\{{)"
    rf"|(?P<keep>\\[A-Za-z]{{1,40}}\*?(?:\[[^\[\]\n]{{0,200}}\])?\{{)"
    r"|(?P<brace>\{)|(?P<close>\})"
)
_BIBTEX = _TEX.replace("(?P<keep>", "(?P<macro>")  # titles are shown without macros that only TeX knows
_SHOWN_OF_TEX = {
    **dict.fromkeys((r"\,", r"\;", r"\:", "\\ ", "~", "\\\\"), " "),
    "``": "“",
    "''": "”",
    "--": "–",
    "---": "—",
    r"\TeX": "TeX",
    r"\LaTeX": "LaTeX",
    r"\ldots": "…",
    r"\dots": "…",
}
_TAGS = rf"</?(?:{INLINE_TAGS}|ref|nowiki|center|div|span|blockquote|poem)(?:\s[^<>\n]{{0,300}})?/?>"
_TYPST = (
    r"(?P<escape>\\[*_`\#$@<>\[\]/~=+-])"
    r"|(?P<alone>/\*(?s:.*?)(?:\*/|\Z)|(?<![:/])//[^\n]*+"
    rf"|{_START}(?:=+[ ](?=\S)|\#(?:set|show|import|let)\b[^\n]*+)|\\(?=\s)|~|---?"
    r"|\#(?:h|v|pagebreak|linebreak|colbreak|outline|parbreak)\([^()\n]{0,200}\)"
    r"|[ ]?<[A-Za-z][\w:.-]{0,60}>|(?<!\w)@[A-Za-z][\w:-]{0,60})"
    r"|(?P<aside_bracket>\#footnote\[)"
    r"|(?P<open_bracket>\#[A-Za-z][\w.-]{0,60}(?:\((?:[^()\n]|\([^()\n]{0,200}\)){0,500}\))?\[)"
    r"|(?P<keep_bracket>\[)|(?P<close_bracket>\])|(?P<code>`{1,3})|(?P<pair>[*_])"
)
_LINES_OF_TEXINFO = (
    "c comment node [a-z]index set clear set[a-z]+ end itemize enumerate [fv]?table multitable example"
    " smallexample lisp display format quotation menu detailmenu direntry dircategory if[a-z]+ need sp page"
    " include bye tex html contents summarycontents shortcontents headings finalout syncodeindex synindex"
    " copying titlepage insertcopying group cartouche flushleft flushright noindent indent"
).replace(" ", "|")
_TEXINFO = (
    r"(?P<escape>@[@{}])"
    rf"|(?P<alone>{_START}@(?:{_LINES_OF_TEXINFO})(?![A-Za-z])[^\n]*+"
    rf"|{_START}@(?!def)[a-z]{{2,40}}(?![A-Za-z{{])[ \t]{{0,9}}"
    r"|@(?:dots|enddots|TeX|LaTeX|copyright|minus|tie|bullet|registeredsymbol)\{\}|@[*.:!?/ -]|``|''"
    r"|(?<=\w)---?(?=\w)|(?<=\s)---?(?=\s))"
    r"|(?P<aside_brace>@footnote\{)"
    r"|(?P<keep_brace>@(?:[a-z]{0,4}ref|anchor|image|math|verb)\{|(?<=[^\s{])\{)"
    r"|(?P<open_brace>@[A-Za-z]{1,40}\{)|(?P<brace_brace>\{)|(?P<close_brace>\})"
)
_ATTRIBUTES = r"(?:\([^()\n]{0,100}\)|\{[^{}\n]{0,100}\}|\[[^\[\]\n]{0,20}\]|[<>=()]){0,5}"
_TEXTILE = (
    rf"(?P<alone>(?<![^\n])(?:h[1-6]|p|bq|bc|pre|fn\d{{1,3}}|notextile|table){_ATTRIBUTES}\.{{1,2}}[ ]"
    r"|(?<=[*_%+^~@-])(?:\{[^{}\n]{1,100}\}|\([\w#-]{1,40}\))(?=\w)|(?<=[\w.])\[\d{1,3}\]"
    r"|(?<=\|)[_<>^~=/\\0-9-]{1,6}\.[ ]"
    r"|!(?:[<>=]|\{[^{}\n]{0,100}\})?[^\s!()\"]{1,300}\.\w{2,5}(?:\([^()\n]{0,200}\))?!(?::\S{1,2000})?"
    rf"|{_TAGS})"
    r"|(?P<open_link>\"(?=[^\"\n]{1,300}\":[\w/.#])(?:\([\w#-]{1,40}\))?)"
    r"|(?P<close_link>(?:\([^()\n\"]{1,100}\))?\":[\w/.#][^\s|<>\"]{0,2000}(?<=[\w/]))"
    r"|(?P<code>@)|(?P<pair>\*\*?(?!\*)|__?(?!_)|\?\?|(?<!-)-(?!-)|\+|\^|~|%)"
)
_WIKI = (
    rf"(?P<alone>{_START}={{1,6}}[ \t]{{0,9}}(?=[^=\s])|(?<=[^=\s])[ \t]{{0,9}}={{1,6}}[ \t]{{0,9}}(?![^\n])"
    r"|'{2,5}|\{\{[^{}]{0,2000}\}\}|<!--(?s:.*?)(?:-->|\Z)|\\\\(?=\s)|__[A-Z]{3,20}__|</?br[ ]?/?>"
    r"|(?<=[|!])[ ]?(?:[a-z]{2,12}=\"[^\"\n]{0,200}\"[ ]?){1,5}\|(?!\|)"
    r"|<(?:ref|nowiki|references)(?:\s[^<>\n]{0,300})?/>)"
    rf"|(?P<tag>{_TAGS})|(?P<aside_round>\(\()|(?P<close_round>\)\))"
    r"|(?P<open_wiki>\[\[(?:[^\[\]|\n]{0,300}\|){0,9})|(?P<close_wiki>\]\])"
    r"|(?P<open_web>\[(?:https?://|ftp://|mailto:)[^\s\[\]]{1,2000}[ ](?=\S))|(?P<close_web>\])"
    r"|(?P<pair>\*\*|(?<!:)//(?!/)|__|~~|,,|\^\^)"
)
_TIDDLYWIKI = (
    rf"(?P<alone>{_START}!{{1,6}}[ ]?(?=\S)|<<[^<>\n]{{1,500}}>>|\{{\{{[^{{}}\n]{{1,500}}\}}\}}"
    r"|<!--(?s:.*?)(?:-->|\Z)|\[img[^\[\]\n]{0,200}\[[^\[\]\n]{0,500}\]\])"
    rf"|(?P<tag>{_TAGS})"
    r"|(?P<open_wiki>\[(?:ext)?\[)|(?P<close_wiki>(?:\|[^\[\]|\n]{0,2000})?\]\])"
    r"|(?P<code>`{1,2})|(?P<free>''|,,|\^\^)|(?P<pair>(?<!:)//(?!/)|__|~~)"
)
_WITH_TEXT_OF_MAN = "SH|SS|SM|SB|B|I|IP|UR|MT|URL|MTO|SY|OP|(?!Dd|Dt|Os|Bl|El|Pp|Xo|Xc)[A-Z][a-z]"
"""Macros whose arguments are text. All other lines of macros are not shown."""
_MAN = (
    rf"(?P<alone>(?<![^\n])\.(?:el[ ]\.)?(?:{_WITH_TEXT_OF_MAN})(?![A-Za-z])[ \t]*+"
    r"|(?<![^\n])[.'](?!(?:BR|BI|IR|IB|RB|RI)[ \t])[^\n]*+"
    r"|\\f(?:\[[A-Z]{0,3}\]|\([A-Z]{2}|[A-Z0-9])|\\s[+-]?\d|\\[&/,|^)%:]"
    r"|\\\([a-z]{2}|\\[-e ~]|\\\[[a-zA-Z]{2}\])"
    r"|(?P<joined>(?<![^\n])\.(?:BR|BI|IR|IB|RB|RI)[ \t]+)"
)
_SHOWN_OF_TEXINFO = {
    **dict.fromkeys(("@tie{}", "@ "), " "),
    "``": "“",
    "''": "”",
    "--": "–",
    "---": "—",
    "@-": "",
    "@dots": "…",
    "@enddots": "…",
    "@TeX": "TeX",
    "@LaTeX": "LaTeX",
    "@copyright": "©",
    "@bullet": "•",
    "@minus": "-",
    "@!": "!",
    "@?": "?",
    "@.": ".",
}
_SHOWN_OF_TYPST = {"~": " ", "--": "–", "---": "—"}
_SHOWN_OF_WIKI = {**dict.fromkeys(("\\\\", "<br>", "<br/>", "<br />"), " ")}
_NAMES_OF_MAN = {
    "aq": "'",
    "dq": '"',
    "lq": "“",
    "rq": "”",
    "oq": "‘",
    "cq": "’",
    "em": "—",
    "en": "–",
    "hy": "-",
    "bu": "•",
    "co": "©",
    "rs": "\\",
    "mu": "×",
    "ga": "`",
    "ha": "^",
    "ti": "~",
}
_SHOWN_OF_MAN = {
    **{rf"\({name}": sign for name, sign in _NAMES_OF_MAN.items()},
    **{rf"\[{name}]": sign for name, sign in _NAMES_OF_MAN.items()},
    r"\-": "-",
    r"\e": "\\",
    "\\ ": " ",
    r"\~": " ",
}


class Language(NamedTuple):
    """The signs of a language, and what is shown for those that are not just left out."""

    signs: re.Pattern[str]  #: Each named group is a role.
    shown: Mapping[str, str] = MappingProxyType({})


def _language(roles: str, shown: Mapping[str, str] = MappingProxyType({})) -> Language:
    return Language(re.compile(f"{_GAP}|{roles}"), shown)


_PLAIN_LANGUAGE = _language(_PLAIN)
MARKUP_LANGUAGES: Mapping[str, Language] = MappingProxyType(
    {
        "org": _language(_ORG),
        "rst": _language(_RST),
        "asciidoc": _language(_ASCIIDOC),
        "latex": _language(_TEX, _SHOWN_OF_TEX),
        "bibtex": _language(_BIBTEX, _SHOWN_OF_TEX),
        "text": _PLAIN_LANGUAGE,
        "mail": _PLAIN_LANGUAGE,
        "typst": _language(_TYPST, _SHOWN_OF_TYPST),
        "texinfo": _language(_TEXINFO, _SHOWN_OF_TEXINFO),
        "textile": _language(_TEXTILE),
        "wiki": _language(_WIKI, _SHOWN_OF_WIKI),
        "tiddlywiki": _language(_TIDDLYWIKI),
        "man": _language(_MAN, _SHOWN_OF_MAN),
    }
)
"""File type → its language of markup."""
