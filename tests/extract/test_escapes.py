"""Escapes of text formats: what is indexed and shown is the value, in the same line."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest

from rag_core.extract import extract

VALUES = [
    ("a.json", r'{"name": "M\u00fcller", "city": "\u6771\u4eac"}', '{"name": "Müller", "city": "東京"}'),
    ("a.json", r'{"a": "one\nrow\r\n\ttwo\\new"}', r'{"a": "one\n row\r\n\t two\\new"}'),
    (
        "a.md",
        "- one\n\t- **Ost**friesland\n\n\t  and **Bre**men\n",
        "- one\n\t- Ostfriesland\n\n\t  and Bremen\n",
    ),
    ("a.md", "1. one\n\n    **Bre**men\n\nText\n", "1. one\n\n    Bremen\n\nText\n"),
    ("man.txt", "N\bNA\bAM\bME\bE\n_\bs_\bp_\bin", "NAME\nspin"),
    ("a.jsonl", '{"a": "\\ud83c\\udf31"}\n{"b": "\\u00e9"}\n', '{"a": "🌱"}\n{"b": "é"}\n'),
    (
        "a.json",
        r'{"a": "\u003cKa\u00c5\u00beu \\\u00f0\u009f\u0090\u00b8", "b": "\u00C3\u00Ae\u00c2\u0085"}',
        r'{"a": "<Kažu \\🐸", "b": "î "}',
    ),
    ("a.json", r'{"a": "\u00e9t\u00e9 \u00c3\u00a9"}', '{"a": "été Ã©"}'),
    ("a.json", r'{"a": "\u00c3\u00a9 \u2013"}', '{"a": "Ã© –"}'),
    ("a.json", r'{"a": "\u00c3\u00a9 ž"}', '{"a": "Ã© ž"}'),
    ("a.properties", r"greeting=Gr\u00fc\u00dfe", "greeting=Grüße"),
    ("a.properties", "greeting=error \\\n    budget\n", "greeting=error \n    budget\n"),
    ("a.yaml", r'a: "M\u00fcller\nand Zo\xeb \U0001F331"', 'a: "Müller and Zoë 🌱"'),
    ("a.toml", r'a = "Gr\u00fc\u00dfe\tan \"alle\""', r'a = "Grüße an \"alle\""'),
    ("a.yaml", r'a: "\x41pple\/pear & \u0042erry\_"', 'a: "Apple/pear & Berry "'),
    (
        "a.yaml",
        'a: "the main\\\n  sail and \\\n  M\\u00fcller"\nb: 1',
        'a: "the mainsail\n   and\n  Müller"\nb: 1',
    ),
    (
        "a.toml",
        'a = """\nthe main\\\n  sail \\\n\n  of Gr\\u00fc\\u00dfe"""',
        'a = """\nthe mainsail\n  \n\n  of Grüße"""',
    ),
    ("a.yaml", '# see: "the manual\nname: "caf\\u00e9 chair"', '# see: "the manual\nname: "café chair"'),
    (
        "a.yaml",
        'a: [x, "\\u00e9", \'y "z\'] # "no\nb: !!str "\\u00e9"',
        'a: [x, "é", \'y "z\'] # "no\nb: !!str "é"',
    ),
    (
        "a.yaml",
        '- k: |\n    say "x\n  "l\\u00e9": "\\u00e9" # c\n- |\n  "\\n\n- "\\u00e9"',
        '- k: |\n    say "x\n  "lé": "é" # c\n- |\n  "\\n\n- "é"',
    ),
    ("a.yaml", '{\n"a": "\\u00e9", "b": ["\\u00e9"]\n}', '{\n"a": "é", "b": ["é"]\n}'),
    (
        "a.yaml",
        'a: {{ include "x" . }}\nb:\n  "\\u00e9\n  \\u00e9"',
        'a: {{ include "x" . }}\nb:\n  "é\n  é"',
    ),
    (
        "a.yaml",
        "a: 'it''s done' # it''s\n'b''s': [!!str 'x''z', 'y']\nc: '' # ''",
        "a: \"it's done\" # it''s\n\"b's\": [!!str \"x'z\", 'y']\nc: '' # ''",
    ),
    ("a.toml", '# note """ here\nname = "caf\\u00e9 table"', '# note """ here\nname = "café table"'),
    (
        "a.toml",
        "a = 'say \"' # it's \"x\nb = \"#\\u00e9 '\" # y",
        "a = 'say \"' # it's \"x\nb = \"#é '\" # y",
    ),
    ("a.json", r'{"a": "\u003e 5 \u0041 \u0027x\u0027 \u0026 y"}', '{"a": "> 5 A \'x\' & y"}'),
    ("a.strings", r'"greeting" = "Gr\U00fc\U00dfe\nan alle";', '"greeting" = "Grüße an alle";'),
    ("a.po", 'msgid ""\n"the error "\n"budget\\n"\nmsgstr "b"', 'msgid "\nthe error \nbudget "\nmsgstr "b"'),
    (
        "a.po",
        'msgid "open"\nmsgstr ""\n"Das Tor lang"\n"sam \\u00f6ff"\n"nen, 世"\n"界。"\nmsgid "a"',
        'msgid "open"\nmsgstr "\nDas Tor langsam\n öffnen\n, 世界\n。"\nmsgid "a"',
    ),
    ("a.po", r'msgid "the \"old\" mill \\"', r'msgid "the "old" mill \\"'),
    ("a.md", "caf&eacute; &ndash; Zo&#235; &#x6771;", "café – Zoë 東"),
    (
        "a.opml",
        '<outline text="Caf&#233; &quot;x&quot; &amp; y"/>',
        '<outline text="Café &quot;x&quot; &amp; y"/>',
    ),
    ("a.tex", r"Schr\"odinger, Erd\H{o}s, na\"{\i}ve, M{\o}ller", "Schrödinger, Erdős, naïve, Møller"),
    ("a.tex", r"Fran\c{c}ois, Stra{\ss}e, \L{}\'od\'z, \v Sibenik", "François, Straße, Łódź, Šibenik"),
    (
        "a.bib",
        r"author = {G{\"o}del and Poincar{\'e} and {\AA}ngstr\"om}",
        "author = {Gödel and Poincaré and Ångström}",
    ),
    ("a.tex", r"in\-ter\-na\-tio\-nal, \emph{un}likely, shelf\/ful", "international, unlikely, shelfful"),
    ("a.bib", r"title = {{B}ib{T}e{X} and \emph{re}use},", "title = {BibTeX and reuse},"),
    ("a.svg", "<text>err<tspan x='1'>or</tspan> budget</text>", "<text>error budget</text>"),
    (
        "a.json",
        r'{"a": "https:\/\/example.org\/x", "b": "C:\\\\/y"}',
        r'{"a": "https://example.org/x", "b": "C:\\\\/y"}',
    ),
    (
        "feed.xml",
        "<rss><d>&lt;p&gt;The &lt;b&gt;old&lt;/b&gt; hawk\n&amp;amp; owl&lt;/p&gt;</d><t>A &amp; B</t></rss>",
        "<rss><d> The old hawk\n&amp; owl </d><t>A &amp; B</t></rss>",
    ),
    (
        "feed.xml",
        '<rss><d><![CDATA[<p>See <a href="https://example.org/a">the <i>hill</i></a></p>]]></d></rss>',
        "<rss><d> See the hill  https://example.org/a </d></rss>",
    ),
    ("a.xml", "<p>H<subscript>2</subscript>O, <b>un</b>able</p>", "<p>H2O, unable</p>"),
    ("a.org", "H_{2}O and x^{2} and /un/able", "H2O and x2 and /un/able"),
    ("a.rst", r"H\ :sub:`2`\ O, *un*\ able, a\ *b* c", "H2O, unable, ab c"),
    (
        "a.wiki",
        "''mizzen''mast, [[boat]]s, [[Sail (cloth)|sail]]cloth, [[a b|c]] d",
        "''mizzenmast, boats, sailcloth, [[a b|c]] d",
    ),
    (
        "a.tid",
        "title: x\n\nDer ''Goldparmäne''n-Baum, H,,2,,O, x^^2^^, ''bold'' a ,,b,, it''s 6'' ''",
        "title: x\n\nDer Goldparmänen-Baum, H2O, x2, ''bold'' a ,,b,, it''s 6'' ''",
    ),
    ("a.wiki", "G&ouml;del, H<sub>2</sub>O", "Gödel, H2O"),
    ("a.wiki", "m<sup>2</sup>, <b>un</b>able, a<sup>b c</sup>d.", "m2, unable, a<sup>b c</sup>d."),
    (
        "feed.xml",
        '<feed><content type="html">&lt;p&gt;a&lt;/p&gt;</content><x><![CDATA[<p>b</p>]]></x></feed>',
        '<feed><content type="html"> a </content><x> b </x></feed>',
    ),
    ("a.csv", "id,body\n1,<p>Hello <b>wor</b>ld</p>\n", "id,body\n1, Hello world \n"),
    (
        "a.csv",
        '1,"<a href=""x"">Caf&eacute;</a><br>&quot;two&quot;,\n<!-- \n --><i>th</i>ree",4',
        '1,"Café ""two"",\n\nthree x ",4',
    ),
    ("a.tsv", "<div>a&#9;b</div>\tc &lt; d &nbsp;<b>e</b>", " a&#9;b \tc < d \xa0e"),
    ("a.csv", "<b>a&comma;b</b>,&amp;\n<b></b>,1\na <b> c,&amp;", "a&comma;b,&\n,1\na <b> c,&amp;"),
    ("a.tsv", '1\t<a href="x, y">lin</a>k\t"<i>q</i>uay"', '1\tlink\t"quay"'),
    (
        "anki.txt",
        '#separator:tab\n#html:true\nmiz<b>zen</b>\t"a ""mast""<br>aft"\n',
        '#separator:tab\n#html:true\nmizzen\t"a ""mast"" aft"\n',
    ),
    ("a.txt", "miz<b>zen</b>\tmast", "miz<b>zen</b>\tmast"),
    ("a.latex", r"Schr\"odinger", "Schrödinger"),
    (
        "a.srt",
        "1\n00:00:01,000 --> 00:00:02,000\n{\\an8}<i>霧の</i>向こう <Font color='#fff'>un</font>able\n"
        "R&amp;D, it&apos;s&lrm; 1 < 2 <3 &lt;b&gt; &nosuch; <Anna>\n",
        "1\n00:00:01,000 --> 00:00:02,000\n霧の向こう unable\nR&D, it's 1 < 2 <3 <b> &nosuch; <Anna>\n",
    ),
    (
        "a.vtt",
        "WEBVTT <b>\n\n00:01.000 --> 00:02.000\n<v.loud Bob &amp; Co>the <c.x>har</c>vest\n\n"
        "00:02.000 --> 00:03.000\n<v Bob &amp; Co>moon<00:02.500> rises</v>\n<v Ann>Yes</v>",
        "WEBVTT <b>\n\n00:01.000 --> 00:02.000\nBob & Co: the harvest\n\n"
        "00:02.000 --> 00:03.000\nmoon rises\nAnn: Yes",
    ),
    ("a.adoc", "H~2~O, **un**able, 2^10^", "H2O, unable, 2^10^"),
]
AS_WRITTEN = [
    ("a.md", "Code:\n\n    a**b**c\n\n\td**e**f\n"),
    ("a.md", "- one\n\nText\n\n    a**b**c\n"),
    ("a.json", r'{"a": "\u0022 \u000a \\u00fc \ud83c"}'),
    ("a.tex", r"one \\ \section{x} \cite{k} \url{u} \left( \omega"),
    ("a.tex", r"\frac{a}{b} \section{Tea} x_{2} $a^{b}c$ {lll}"),
    (
        "a.xml",
        "<a>List&lt;String&gt; &lt;T&gt;</a><b><![CDATA[if (a < b && c > d) x]]></b><![CDATA[</p>"[:78],
    ),
    ("a.xml", "<d><programlisting>&lt;p&gt;a &lt;b&gt;b&lt;/b&gt;&lt;/p&gt;</programlisting></d>"),
    ("a.xml", '<d><jats:code lang="x"><![CDATA[<p>a</p>]]></jats:code></d>'),
    ("a.texi", "@math{\\frac{d}{dx}} and @macro x{text}"),
    ("a.xml", "<a><b>bold</b> word</a><td>one</td><td>two</td>"),
    ("a.yaml", r"""a: 'M\u00fcller\n' # "C:\\new" C:\new"""),
    ("a.yaml", "a: |\n  'it''s'\nb: it''s\nc: 'say \"it''s\"'\nd: 'C:\\it''s'\ne: 'it''s' x"),
    ("a.toml", r"a = 'C:\new\temp'"),
    ("a.toml", "a = '''\nC:\\u0041 \\\n'''\nb = 1"),
    ("a.yaml", 'a: 5" pipe \\u0041\nb: 6" pipe'),
    ("a.yaml", "a: |\n  say C:\\u0041\n"),
    ("a.yaml", 'run: |\n  copy "C:\\Notes\\_old" "D:\\Next"'),
    ("a.yaml", 'note: |\n  width: "19 inch\npath: C:\\new\\temp\nkeep: C:\\tools\nname: "x"'),
    ("a.yaml", 'note: "19 inch\npath: C:\\new\\temp\nkeep: C:\\tools\nname: "x"'),
    ("a.yaml", 'a:\n  note: "19 inch\n  path: C:\\new\n  keep: "C:\\tools'),
    ("a.yaml", '- key: >-  # folded\n\n    a: "C:\\new"\n\n    - "C:\\temp"\n  b: C:\\new "x", "C:\\new"'),
    ("a.yaml", 'run: "C:\\new\\a.exe" "C:\\temp"\n"k": |2-\n   - "C:\\new"'),
    ("a.yaml", 'a: \'C:\\new "x": "\\n"\'\nb: x#y "\\n"'),
    ("a.toml", "a = ['C:\\new \"x\\n\"', 'y'] # \"\\n\""),
    ("a.properties", "path=C:\\\\\nnext=1"),
    ("a.md", "R&D &nosuch; &lt;b&gt; &amp;eacute;"),
    ("a.py", r'name = "M\u00fcller"'),
]


@pytest.mark.parametrize(("name", "source", "text"), VALUES)
def test_a_value_is_shown_without_its_escapes(name: str, source: str, text: str) -> None:
    found = extract(source.encode(), PurePosixPath(name))
    assert found.text == text


@pytest.mark.parametrize(("name", "source"), AS_WRITTEN)
def test_what_means_something_to_the_format_stays(name: str, source: str) -> None:
    assert extract(source.encode(), PurePosixPath(name)).text == source
