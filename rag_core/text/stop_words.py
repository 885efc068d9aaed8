"""Stop words by language: words that do not describe the subject of a query. They are articles, pronouns,
prepositions, conjunctions, auxiliaries and question words. The lists are short, so that they hardly ever
contain a name or a thing."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection

ENGLISH = frozenset(
    (
        "a about an and any are as at be been but by can could did do does for from get had has have he her "
        "him his how i if in into is it its many me much my not of on or our per she should so some than "
        "that the their them then there these they this to us use was we were what when where which who "
        "whom whose why will with would you your"
    ).split()
)

_LISTS = {
    "Arabic": (
        "في من على إلى الى عن مع هذا هذه ذلك تلك التي الذي ما ماذا متى أين اين كيف لماذا هل كم أو او ثم "
        "أن ان إن لا لم لن قد كان كانت هو هي هم أنا انا نحن أنت عند بعد قبل بين كل أي اي"
    ),
    "Catalan": (
        "el la els les un una de del dels al als i o que qui com quan on per amb en es sense no mes hi ha "
        "han he va van meu meva seu seva aquest aquesta"
    ),
    "Czech": (
        "a i v ve na do od po pro pri s se si z ze k ke u o je jsou byl byla bylo jsem jsi jak kdy kde "
        "kdo co proc ktery ktera ktere to ten ta ne nebo ale jeho jeji moje muj nas nase uz"
    ),
    "Danish": (
        "og i pa af til fra for med om ved en et den det de der som er var har have blev kan skal vil "
        "hvad hvem hvor hvornar hvordan hvorfor jeg du han hun vi min mit mine vores sin ikke men eller"
    ),
    "Dutch": (
        "de het een en van in op te tot voor met aan bij naar uit om over door is zijn was waren heeft "
        "hebben had wordt kan moet wat wie waar wanneer hoe waarom welke welk ik je jij hij zij wij we "
        "mijn onze ons haar niet geen maar of dat die dit deze er ook dan"
    ),
    "Finnish": (
        "ja tai on oli ovat ei en se ne han me te he mina sina mika mita milloin missa kuka miten miksi "
        "kuinka joka jotka kun etta jos mutta myos minun meidan sen tama nyt"
    ),
    "French": (
        "le la les l un une des du de d au aux et ou a en dans sur sous pour par avec sans chez est sont "
        "etait etaient ai as avons avez ont avait ete que qu qui quoi quand comment combien quel quelle "
        "quels quelles pourquoi je tu il elle nous vous ils elles on me te se mon ma mes ton ta tes son "
        "sa ses notre nos votre vos leur leurs ce cet cette ces ne n pas plus j"
    ),
    "German": (
        "der die das den dem des ein eine einen einem einer eines und oder in im an am auf aus bei beim "
        "mit nach seit von vom zu zum zur fur uber um durch ist sind war waren wird werden wurde wurden "
        "hat haben hatte kann konnen muss soll was wer wen wem wann wo wie wieso warum welche welcher "
        "welches wieviel ich du er sie es wir ihr mich mir dich uns mein meine meinen meinem meiner unser "
        "unsere unseren unserem sein seine ihre ihren nicht kein keine auch dass wenn als so nur noch"
    ),
    "Greek": (
        "απο ειναι ηταν εχει εχουν ποτε που πωσ γιατι ποσο ποιοσ οτι ο η το οι τα τον την του τησ των "
        "τουσ τισ ενα μια ενασ και σε στο στη στην στον στα για απο με χωρισ ειναι ηταν εχει εχουν τι "
        "ποια ποιο ποτε που πωσ γιατι ποσο δεν να θα μου σου μασ σασ οτι"
    ),
    "Hebrew": (
        "של את על אל עם מן או גם לא כי אם זה זו הוא היא הם אני אנחנו מה מי מתי איפה איך למה כמה היה הייתה "
        "יש אין"
    ),
    "Hindi": (
        "का की के को में से पर ने और या है हैं था थी थे हो हुआ हुई कब कहाँ कहां कैसे क्यों क्या कौन कितना "
        "कितनी कितने किस यह वह ये वे मैं हम मेरा मेरी मेरे हमारा हमारी हमारे अपना अपनी अपने उसका उसकी "
        "नहीं तक लिए साथ जो"
    ),
    "Hungarian": (
        "a az egy es vagy is nem van vannak volt hogy ha de meg mi mit ki kit mikor hol hogyan miert "
        "mennyi melyik en te o ti ez azt ezt"
    ),
    "Italian": (
        "il lo la i gli le l un uno una di del dello della dei degli delle a al allo alla ai agli alle da "
        "dal dalla dai in nel nella nei nelle su sul sulla con per tra fra e ed o che chi cosa quando "
        "dove come perche quanto quanta quanti quale quali sono era erano ha hanno ho abbiamo aveva io tu "
        "lui lei noi voi loro mi ti si ci mio mia miei mie nostro nostra suo sua non piu questo questa"
    ),
    "Norwegian": (
        "og i pa av til fra for med om ved en et ei den det de der som er var har hadde ble kan skal vil "
        "hva hvem hvor nar hvordan hvorfor jeg du han hun vi min mitt mine sin ikke men eller"
    ),
    "Polish": (
        "i w we na do od po dla przy z ze o u za przez jest sa byl byla bylo byly jak kiedy gdzie kto co "
        "dlaczego ktory ktora ktore ile to ten ta nie lub albo ale jego jej moj moja moje nasz nasza sie "
        "czy"
    ),
    "Portuguese": (
        "o a os as um uma uns umas de do da dos das em no na nos nas por pelo pela para com sem e ou que "
        "quem qual quais quando onde como quanto quanta quantos quantas era foi sao foram esta estava tem "
        "ter tinha eu tu ele ela eles elas me te se meu minha meus minhas nosso nossa seu sua nao mais "
        "este isto ao aos"
    ),
    "Romanian": (
        "un o al a ai ale de la in din pe cu pentru prin si sau ca ce cine cand unde cum cat este sunt "
        "era au am are nu mai eu tu el ea noi meu mea nostru acest aceasta"
    ),
    "Russian": (
        "и в во на с со к ко по за из от до у о об для при без что чего кто кого как когда где куда "
        "откуда почему зачем сколько какой какая какие каком который которая которые это этот эта эти тот "
        "та те он она оно они я мы ты вы мне меня нам нас мой моя мое мои наш наша наши его ее их не ни "
        "или а но же ли бы был была было были есть чем"
    ),
    "Spanish": (
        "el la los las lo un una unos unas de del a al en por para con sin sobre entre y o u que quien "
        "quienes cual cuales cuando donde como cuanto cuanta cuantos cuantas es son era eran fue fueron "
        "esta estan hay ha han he tiene tengo yo tu ella nosotros ellos me te se nos mi mis tus su sus "
        "nuestro nuestra no mas este esto ese esa eso"
    ),
    "Swedish": (
        "och i pa av till fran for med om vid en ett den det de som ar var har hade blev kan ska skall "
        "vill vad vem nar hur varfor jag du han hon vi min mitt mina vart sin inte men eller"
    ),
    "Turkish": (
        "ve veya ile bir bu su o da de mi mu ne kim nerede nasil neden nicin kac hangi icin gibi var yok "
        "degil ben sen biz siz benim bizim daha cok ama"
    ),
    "Ukrainian": (
        "і й та в у на з із зі до від по за для при без про що хто як коли де куди звідки чому скільки "
        "який яка які це цей ця ці він вона воно вони я ми ти ви мене нам нас мій моя мої наш наша не або "
        "але чи був була було були є"
    ),
}
_LATIN = "LATIN"


def _folded(words: str) -> frozenset[str]:
    """Return words folded like those of a query. The lists contain Latin words without accents already."""
    return frozenset(unicodedata.normalize("NFC", word.casefold()) for word in words.split())


OTHERS = {name: _folded(words) for name, words in _LISTS.items()}
"""Language → its stop words, folded."""


def stop_words(words: Collection[str]) -> frozenset[str]:
    """Return the stop words among a query's folded words.

    English stop words always count. Those of another language count only if the query is in that language. In
    the Latin script it is if it has at least two of them and more than it has English ones; in another script
    one is enough.
    """
    asked = frozenset(words)
    english = asked & ENGLISH
    if asked <= english:
        return english
    best = max((asked & known for known in OTHERS.values()), key=len)
    is_latin = any(unicodedata.name(word[0], "").startswith(_LATIN) for word in best)
    is_enough = len(best) > max(1, len(english)) if is_latin else bool(best)
    return english | best if is_enough else english
