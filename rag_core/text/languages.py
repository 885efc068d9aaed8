"""The language of a text, by its script and its most frequent words: enough to tell what a store is in."""

from __future__ import annotations

import re
from collections import defaultdict

_LOOKED_AT = 600  # letters of a text
_LEAST = 2  # frequent words that a text must hold
_SCRIPTS = {  # languages whose texts are told by their letters, or that a reader would call by their script
    "Japanese": "\u3041-\u30ff",
    "Korean": "\uac00-\ud7a3\u1100-\u11ff",
    "Chinese": "\u3400-\u9fff",
    "Thai": "\u0e00-\u0e7f",
    "Greek": "\u0370-\u03ff",
    "Hebrew": "\u0590-\u05ff",
    "Hindi": "\u0900-\u097f",
    "Arabic": "\u0600-\u06ff",
    "Russian": "\u0400-\u04ff",
}
_JAPANESE_SHARE = 0.1  # of letters that are kana
_WORDS = {
    "English": "the and of to is that it for was with are this have not but from you they his which will on",
    "German": "der die und das ist nicht ein eine mit auf für den von dem sich auch wird zu wir ich es im",
    "French": "le la les de des et est un une dans pour que qui du pas sur au avec il je nous sont cette en",
    "Spanish": "el la los las de un que en una por con para se del es no su al lo como más pero está hay",
    "Portuguese": "os as de um que em uma por com para se do da não é na no ao mais dos foi são muito",
    "Italian": "il la gli che di in un una per con non è del della sono si le alla nel anche più ho",
    "Dutch": "de het een en van is niet op te dat met voor zijn er maar ik je ook naar wordt bij",
    "Swedish": "och att det som en på är av för med till den inte jag om ett var har vi ska",
    "Danish": "og at det som en på er af for med til den ikke jeg om et var har vi skal der",
    "Polish": "na nie się do jest że to jak co po od za przez dla są był być oraz tylko tym",
    "Czech": "na se je že do jsem by jako pro ale po jsou jsme který není při aby bylo tak",
    "Turkish": "ve bir bu için ile da çok ne var daha gibi olarak sonra kadar ama değil olan",
    "Finnish": "ja on ei että se oli hän mutta kun joka ovat myös tai niin kuin sen mitä olen",
    "Hungarian": "az és hogy nem egy van meg ez volt csak ha már kell mint még el vagy lesz",
}
_OF_WORD = {
    word: [name for name, words in _WORDS.items() if word in words.split()]
    for word in {word for words in _WORDS.values() for word in words.split()}
}


def language_of(text: str) -> str:
    """Return the English name of a text's language; '' if it cannot be told, as of a few words."""
    letters = "".join(re.findall(r"[^\W\d_]", text[:_LOOKED_AT]))
    for name, letters_of in _SCRIPTS.items():
        share = len(re.findall(f"[{letters_of}]", letters)) / max(1, len(letters))
        if share > (_JAPANESE_SHARE if name == "Japanese" else 0.5):
            return name
    words = re.findall(r"[^\W\d_]+", text[:_LOOKED_AT].lower())
    held = [word for word in words if word in _OF_WORD]
    shares: defaultdict[str, float] = defaultdict(float)
    for word in held:
        for name in _OF_WORD[word]:
            shares[name] += 1 / len(_OF_WORD[word])  # a word of several languages says less
    return max(shares, key=lambda name: shares[name]) if len(held) >= _LEAST else ""
