"""Questions that hardly any store answers: the same twenty in twelve languages. Their similarity to a store's
passages is the baseline for questions without an answer; see `store/questions.py`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_TEXTS = {
    "English": """
how do birds find their way south
capital of Mongolia
rules of water polo
who wrote the Odyssey
how is glass recycled
symptoms of scurvy
history of the printing press
where does vanilla grow
why is the sea salty
Olympic champions in gymnastics
how to weave a basket
how many moons does Jupiter have
knights of the Middle Ages
who built the Taj Mahal
what do flamingos eat
copper engraving
flamenco dancing
how does a laser work
tributaries of the Amazon
flying a hot-air balloon
""",
    "German": """
wie finden Zugvögel den Weg nach Süden
Hauptstadt der Mongolei
Regeln beim Wasserball
wer schrieb die Odyssee
wie wird Glas wiederverwertet
Anzeichen von Skorbut
Geschichte des Buchdrucks
wo wächst Vanille
warum ist das Meer salzig
Olympiasieger im Turnen
wie flicht man einen Korb
wie viele Monde hat Jupiter
Ritter im Mittelalter
wer baute das Taj Mahal
was fressen Flamingos
Kupferstich
Flamenco tanzen
wie funktioniert ein Laser
Nebenflüsse des Amazonas
Fahrt im Heißluftballon
""",
    "French": """
comment les oiseaux trouvent le chemin du sud
capitale de la Mongolie
règles du water-polo
qui a écrit l'Odyssée
comment recycle-t-on le verre
symptômes du scorbut
histoire de l'imprimerie
où pousse la vanille
pourquoi la mer est-elle salée
champions olympiques de gymnastique
comment tresser un panier
combien de lunes a Jupiter
chevaliers du Moyen Âge
qui a construit le Taj Mahal
que mangent les flamants roses
gravure sur cuivre
danse flamenco
comment fonctionne un laser
affluents de l'Amazone
vol en montgolfière
""",
    "Spanish": """
cómo encuentran las aves el camino al sur
capital de Mongolia
reglas del waterpolo
quién escribió la Odisea
cómo se recicla el vidrio
síntomas del escorbuto
historia de la imprenta
dónde crece la vainilla
por qué es salado el mar
campeones olímpicos de gimnasia
cómo tejer una cesta
cuántas lunas tiene Júpiter
caballeros de la Edad Media
quién construyó el Taj Mahal
qué comen los flamencos
grabado en cobre
baile flamenco
cómo funciona un láser
afluentes del Amazonas
vuelo en globo aerostático
""",
    "Portuguese": """
como as aves encontram o caminho para o sul
capital da Mongólia
regras do polo aquático
quem escreveu a Odisseia
como se recicla o vidro
sintomas do escorbuto
história da imprensa
onde cresce a baunilha
por que o mar é salgado
campeões olímpicos de ginástica
como entrançar um cesto
quantas luas tem Júpiter
cavaleiros da Idade Média
quem construiu o Taj Mahal
o que comem os flamingos
gravura em cobre
dança flamenca
como funciona um laser
afluentes do Amazonas
voo em balão de ar quente
""",
    "Italian": """
come trovano gli uccelli la via del sud
capitale della Mongolia
regole della pallanuoto
chi scrisse l'Odissea
come si ricicla il vetro
sintomi dello scorbuto
storia della stampa
dove cresce la vaniglia
perché il mare è salato
campioni olimpici di ginnastica
come si intreccia un cesto
quante lune ha Giove
cavalieri del Medioevo
chi costruì il Taj Mahal
che cosa mangiano i fenicotteri
incisione su rame
ballo flamenco
come funziona un laser
affluenti del Rio delle Amazzoni
volo in mongolfiera
""",
    "Russian": """
как птицы находят дорогу на юг
столица Монголии
правила водного поло
кто написал Одиссею
как перерабатывают стекло
признаки цинги
история печатного станка
где растёт ваниль
почему море солёное
победители олимпиады по гимнастике
как плетут корзины
сколько лун у Юпитера
рыцарские ордена
кто построил Тадж-Махал
чем питаются фламинго
гравировка по меди
танец фламенко
как работает лазер
реки Амазонии
полёт на воздушном шаре
""",
    "Chinese": """
候鸟怎样找到南方的路
蒙古的首都
水球的规则
谁写了奥德赛
玻璃怎么回收
坏血病的症状
印刷机的历史
香草长在哪里
海水为什么是咸的
体操奥运冠军
怎样编竹篮
木星有几颗卫星
中世纪的骑士团
泰姬陵是谁建的
火烈鸟吃什么
铜版雕刻
弗拉门戈舞
激光的原理
亚马孙河的支流
热气球飞行
""",
    "Japanese": """
渡り鳥はどうやって南への道を見つけるのか
モンゴルの首都
水球のルール
オデュッセイアを書いたのは誰か
ガラスはどうリサイクルされるか
壊血病の症状
印刷機の歴史
バニラはどこで育つか
海はなぜしょっぱいのか
体操のオリンピック優勝者
かごの編み方
木星の衛星はいくつか
中世の騎士団
タージ・マハルを建てた人
フラミンゴの食べ物
銅版画の彫り方
フラメンコの踊り
レーザーの仕組み
アマゾン川の支流
熱気球の飛行
""",
    "Korean": """
철새는 어떻게 남쪽으로 길을 찾는가
몽골의 수도
수구 경기 규칙
오디세이아를 쓴 사람
유리는 어떻게 재활용되나
괴혈병의 증상
인쇄기의 역사
바닐라는 어디에서 자라나
바다는 왜 짠가
체조 올림픽 우승자
바구니 엮는 법
목성의 위성은 몇 개인가
중세의 기사단
타지마할을 지은 사람
홍학은 무엇을 먹나
동판화 새기기
플라멩코 춤
레이저의 원리
아마존 강의 지류
열기구 비행
""",
    "Arabic": """
كيف تجد الطيور طريقها إلى الجنوب
عاصمة منغوليا
قواعد كرة الماء
من كتب الأوديسة
كيف يعاد تدوير الزجاج
أعراض الإسقربوط
تاريخ آلة الطباعة
أين تنمو الفانيليا
لماذا البحر مالح
أبطال الجمباز الأولمبيون
طريقة صنع السلال
كم قمرا للمشتري
فرسان العصور الوسطى
من بنى تاج محل
ماذا تأكل طيور الفلامنغو
النقش على النحاس
رقصة الفلامنكو
كيف يعمل الليزر
روافد نهر الأمازون
الطيران بالمنطاد
""",
    "Hindi": """
पक्षी दक्षिण का रास्ता कैसे खोजते हैं
मंगोलिया की राजधानी
वाटर पोलो के नियम
ओडिसी किसने लिखी
काँच का पुनर्चक्रण कैसे होता है
स्कर्वी के लक्षण
छापाखाने का इतिहास
वनीला कहाँ उगता है
समुद्र खारा क्यों है
जिम्नास्टिक के ओलंपिक विजेता
टोकरी कैसे बुनते हैं
बृहस्पति के कितने चंद्रमा हैं
मध्ययुग के शूरवीर
ताजमहल किसने बनवाया
फ्लेमिंगो क्या खाते हैं
ताँबे पर नक़्क़ाशी
फ्लेमेंको नृत्य
लेज़र कैसे काम करता है
अमेज़न की सहायक नदियाँ
ग़ुब्बारे में उड़ान
""",
}

PROBES: Final[Mapping[str, tuple[str, ...]]] = {
    language: tuple(text.strip().splitlines()) for language, text in _TEXTS.items()
}
"""The twenty questions in each language, by the language's English name."""
