"""Task sentences in Chinese, English or both, taken apart into words, phrases and values.

Positions are those of the sentence as it was given, so that a value is exactly what stands there.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from rapidfuzz.distance import OSA

from replaywright.domain import chat_lists
from replaywright.domain import goal_lists as lists
from replaywright.domain.chat_lists import phrases
from replaywright.domain.choices import choice_of
from replaywright.domain.naming import is_name_of_person
from replaywright.domain.phrasal import reworded
from replaywright.domain.words import Concept, Kind, Sort, Token, folded
from replaywright.domain.words import plain as plain_form

_MONTHS = "jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?"  # noqa: E501
_HAN = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_B = r"(?<![a-z0-9])"
_E = r"(?![a-z0-9])"
_EXTENSIONS = "[a-z]{2,4}[0-9]?"
_DATE = (
    rf"{_B}\d{{4}}[-/.]\d{{1,2}}[-/.]\d{{1,2}}{_E}|{_B}\d{{1,2}}[./]\d{{1,2}}[./]\d{{4}}{_E}"
    r"|(?:(?<!\d)\d{4}\s*年\s*)?(?<!\d)\d{1,2}\s*月\s*\d{1,2}\s*[日号]"
    rf"|{_B}(?:{_MONTHS})\.?\s+\d{{1,2}}(?:st|nd|rd|th)?(?!\d)(?:,?\s+\d{{4}})?{_E}"
    rf"|{_B}\d{{1,2}}(?:st|nd|rd|th)?\s+(?:of\s+)?(?:{_MONTHS})\.?(?:,?\s+\d{{4}})?{_E}"
)
_CODE = (
    rf"{_B}[a-z0-9][a-z0-9_\-]*(?:\.[a-z0-9_\-]+)*\.{_EXTENSIONS}{_E}"
    rf"|(?<=\s)[{_HAN}\w\-]+\.{_EXTENSIONS}{_E}"
    rf"|{_B}(?=[a-z0-9\-_/]*\d)(?=[a-z0-9\-_/]*[a-z])[a-z0-9]+(?:[\-_/][a-z0-9]+)*{_E}"
    rf"|{_B}\d+(?:[\-_/]\d+)+{_E}"
)
_NUMBER = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:[.,]\d+)?"

_PARTS = re.compile(
    "|".join(
        f"(?P<{kind}>{pattern})"
        for kind, pattern in (
            (Kind.SLOT, r"""['"“”「」『』‘]?\{\{\s*(?:secret:\s*)?[a-z_][a-z0-9_]*\s*\}\}['"“”「」『』]?"""),
            ("owner", r"(?<=[a-z0-9])'s(?![a-z0-9'])"),
            ("double", r'"[^"]+"'),
            ("single", r"(?<![a-z0-9])'(?:[^']|(?<=[a-z])'(?=[a-z]))+'(?![a-z0-9])"),
            (
                "paired",
                r"“[^”]+”|「[^」]+」|『[^』]+』|《[^》]+》|„[^“”]+[“”]|«[^»]+»|‘(?:[^'’]|(?<=[a-z])['’](?=[a-z]))+['’]",
            ),
            (Kind.EMAIL, r"[a-z0-9][a-z0-9._%+\-]*@[a-z0-9\-]+(?:\.[a-z0-9\-]+)*\.[a-z]{2,}"),
            (Kind.URL, rf"https?://[^\s{_HAN}，。、]+"),
            (Kind.DATE, _DATE),
            (Kind.MONTH, rf"(?<!\d)\d{{4}}\s*年\s*\d{{1,2}}\s*月|{_B}(?:{_MONTHS})\.?\s+\d{{4}}{_E}"),
            (
                Kind.TIME,
                rf"{_B}\d{{1,2}}:\d{{2}}(?::\d{{2}})?(?:\s?[ap]m)?{_E}|{_B}\d{{1,2}}\s?[ap]m{_E}|\d{{1,2}}点(?:半|\d{{1,2}}分)?",
            ),
            (Kind.PHONE, rf"\+\d[\d\s\-()]{{5,}}\d{_E}|{_B}\d{{2,4}}(?:[\-\s]\d{{3,8}}){{1,3}}{_E}"),
            ("counted", r"(?<![a-z0-9])\d+(?=-[a-z]{3,}(?![a-z0-9\-.])|[x×](?![a-z0-9]))"),
            (Kind.CODE, _CODE),
            ("signed", rf"(?<!\S)[-−+](?:{_NUMBER})(?!\d)"),
            (Kind.NUMBER, rf"(?<![\d.])(?<!\d,)(?:{_NUMBER})(?![\d])"),
            ("numero", rf"{_B}(?:no|nr|num)\.?\s?(?=[#:]?\s?[a-z]*-?\d)"),
            ("han", f"[{_HAN}]+"),
            ("latin", r"[^\W\d_]+(?:['\-][^\W\d_]+)*"),
            ("sign", r"[€$£¥]"),
            ("arrow", r"[-=—]{1,3}>+|[→⇒➔➜➡⟶]\ufe0f?"),
            (Kind.MARK, r"\S"),
        )
    )
)
_ARROW = ((Sort.DIRECTION, "to"), (Sort.DIRECTION, "into"))
_DOUBLED = re.compile(r"(.)\1")
_SURNAMES = frozenset(lists.SURNAMES_HAN.split())
_NAMED_MEASURES = frozenset(lists.SURNAMES.split())
_BEFORE_NAMES = frozenset("给由和让到")
_AFTER_NAMES = frozenset("的和与及")
_NEVER_IN_NAMES = frozenset("的了着和与及给把吧吗呢啊这那个下看办做听用查审批收读改填签走去")
_PURPOSES = tuple(lists.PURPOSES.split())
_INSIDE_ACTS = ("一下", "个", "一个", "下")
_WORDS_OF_FOUR = frozenset(lists.WORDS_OF_FOUR.split())
_SPEAKING = frozenset("%*^~")
"""Punctuation that changes what is meant."""
_SHAPES = {
    "email": re.compile(r"[a-z0-9][a-z0-9._%+\-]*@[a-z0-9\-]+(?:\.[a-z0-9\-]+)*\.[a-z]{2,}"),
    "date": re.compile(_DATE),
    "number": re.compile(rf"[-+]?(?:{_NUMBER})"),
}


def has_type(value: str, kind: str, choices: Sequence[str] = ()) -> bool:
    """Whether a value is what a parameter of this type takes; a date is a day, in any common notation."""
    if kind == "choice":
        return choice_of(value, choices) is not None
    shape = _SHAPES.get(kind)
    return bool(value.strip()) if shape is None else bool(shape.fullmatch(folded(value)))


# ------------------------------------------------------------------------------------------------------ words


def _entries(text: str) -> Iterable[tuple[str, list[str]]]:
    for line in text.strip().splitlines():
        meaning, _, words = line.partition(":")
        yield meaning, [word.strip() for word in words.split(",") if word.strip()]


@dataclass(frozen=True)
class _Lexicon:
    meanings: Mapping[str, tuple[Concept, ...]]
    words: Mapping[Concept, tuple[str, ...]]
    negations: frozenset[str]
    joins: frozenset[str]
    measures: frozenset[str]
    fillers: frozenset[str]
    chat: frozenset[str]
    irregular: Mapping[str, str]
    """Participles, and what they are of."""
    phrase_starts: frozenset[str]
    """First words of phrases."""
    longest_phrase: int
    """In words."""
    longest_han: int
    """In characters."""


@cache
def _lexicon() -> _Lexicon:
    found: dict[str, list[Concept]] = {}
    words: dict[Concept, list[str]] = {}
    for sort, text in (
        (Sort.THING, lists.THINGS),
        (Sort.ACT, lists.ACTS),
        (Sort.ATTRIBUTE, lists.ATTRIBUTES),
        (Sort.DIRECTION, lists.DIRECTIONS),
        (Sort.QUALIFIER, lists.QUALIFIERS),
    ):
        for meaning, listed in _entries(text):
            for word in dict.fromkeys(map(plain_form, listed)):
                concept = (sort, meaning)
                if concept not in found.setdefault(word, []):
                    found[word].append(concept)
                words.setdefault(concept, []).append(word)
    for word, concepts in found.items():
        is_given = len(word) > 1 and word[-1] in lists.GIVEN_TO and concepts[0][0] is Sort.ACT
        if is_given and (Sort.DIRECTION, "to") not in concepts:  # 转到, 交给
            concepts.append((Sort.DIRECTION, "to"))
    fillers = lists.FILLERS.split() + [word.strip() for word in re.split("[,\n]", lists.PHRASES) if word.strip()]
    chat = frozenset(phrases(f"{chat_lists.CHAT}\n{chat_lists.CHAT_HAN}\n{chat_lists.HAVE_IT}\n{chat_lists.SLIPS}"))
    for word in (*fillers, *sorted(chat)):
        found.setdefault(word, [])
    negations, joins = frozenset(lists.NEGATIONS.split()), frozenset(lists.JOINS.split())
    for word in negations:
        found[word] = [(Sort.UNKNOWN, word)]
    by_place = frozenset(f"{chat_lists.COMPLEMENTS} {chat_lists.MORNING} 都".split())
    by_place |= frozenset(
        f"{lists.PURPOSES} {lists.ATTENDING} {lists.THAT_DAY} 过目 查收 {lists.OTHER_WORDS}".split()
    ) | frozenset(phrases(lists.PURPOSE_PHRASES))
    by_place |= frozenset(phrases(f"{chat_lists.REASONING},{chat_lists.TEMPORARY}"))
    for word in joins | by_place | frozenset(lists.MEASURES.split()):
        found.setdefault(word, [(Sort.UNKNOWN, word)])
    return _Lexicon(
        meanings={word: tuple(concepts) for word, concepts in found.items()},
        words={concept: tuple(listed) for concept, listed in words.items()},
        negations=negations,
        joins=joins,
        measures=frozenset(lists.MEASURES.split()),
        fillers=frozenset(fillers),
        chat=chat - frozenset(fillers),
        irregular={meaning: words[0] for each in lists.IRREGULAR.split(",") for meaning, words in _entries(each)},
        phrase_starts=frozenset(word.partition(" ")[0] for word in found if " " in word),
        longest_phrase=max(word.count(" ") + 1 for word in found),
        longest_han=max(len(word) for word in found if re.fullmatch(f"[{_HAN}]+", word)),
    )


def words_for(concept: Concept) -> tuple[str, ...]:
    """The listed words that mean it."""
    return _lexicon().words.get(concept, ())


def is_listed(word: str) -> bool:
    """Whether the lists know this word."""
    return word in _lexicon().meanings


def is_misspelt(word: str, spelling: str) -> bool:
    """Whether a typing error makes `word` of a longer Latin word: a letter more, less or another, or two swapped.

    Of a word of five letters only one may be missing: "clone" is not "close".
    """
    if len(word) < 4 or not word.isascii() or spelling[0] != word[0] or word.startswith(spelling):
        return False
    if len(word) > 4 and _DOUBLED.sub(r"\1", word) == _DOUBLED.sub(r"\1", spelling):
        return True
    is_swap = len(spelling) == len(word) and sorted(spelling) == sorted(word)
    if len(spelling) == 5 and len(word) == 4:
        return word not in _WORDS_OF_FOUR and OSA.distance(word, spelling, score_cutoff=1) <= 1
    return (is_swap or len(spelling) > 5) and OSA.distance(word, spelling, score_cutoff=1) <= 1


@lru_cache(maxsize=4096)
def respelt(word: str) -> tuple[str, ...]:
    """The listed words that a typing error makes this one of; none for a word that is listed itself."""
    if is_listed(word) or not word.isalpha():
        return ()
    return tuple(sorted(each for each in _spellings(word[0]) if is_misspelt(word, each)))


@cache
def _spellings(letter: str) -> tuple[str, ...]:
    listed = _lexicon().meanings
    return tuple(each for each in listed if len(each) > 3 and each[0] == letter and each.isascii() and each.isalpha())


@lru_cache(maxsize=65536)
def meanings_of(word: str) -> tuple[Concept, ...]:
    """What a word may mean, likeliest first; its plural means the same. One on no list is its own concept."""
    known = _lexicon().meanings
    single = word if word in known else _single(word)
    if single:
        return known[single]
    is_slip = any(is_misspelt(word, each) for each in chat_lists.MISSPELT.split())
    return () if is_slip else _participle_of(word) or ((Sort.UNKNOWN, word),)


def _participle_of(word: str) -> tuple[Concept, ...]:
    """The acts of a participle that is on no list itself."""
    if word in _lexicon().meanings or not word.isascii():
        return ()
    stems = [_lexicon().irregular[word]] if word in _lexicon().irregular else []
    if word.endswith("ed") and len(word) > 4:
        stems += [
            word[:-1],
            word[:-2],
            word[:-3] if word[-3] == word[-4] else "",
            word[:-3] + "y" if word[-3] == "i" else "",
        ]
    meanings = (concept for stem in stems for concept in _lexicon().meanings.get(stem, ()))
    return tuple(dict.fromkeys(concept for concept in meanings if concept[0] is Sort.ACT))


def _single(word: str) -> str:
    """The listed word that this one is the plural of; empty if there is none."""
    known = _lexicon().meanings
    for ending, instead in (("ies", "y"), ("es", ""), ("s", "")):
        single = word.removesuffix(ending) + instead
        if word.endswith(ending) and single in known and len(single) > 2:
            return single if any(sort is not Sort.DIRECTION for sort, _ in known[single]) else ""
    return ""


def _word(text: str, start: int, end: int, word: str) -> Token:
    lexicon = _lexicon()
    is_measure = word in lexicon.measures
    return Token(
        Kind.WORD,
        text[start:end],
        start,
        end,
        () if is_measure else meanings_of(word),
        is_negation=word in lexicon.negations or word.endswith("n't"),
        is_join=word in lexicon.joins,
        is_measure=is_measure,
        is_plural=word.isascii() and word not in lexicon.meanings and bool(_single(word)),
        is_participle=bool(_participle_of(word)),
        is_soft=word in lexicon.fillers,
        is_chat=word in lexicon.chat and not is_measure and not meanings_of(word),
    )


def _han(text: str, start: int, end: int) -> Iterable[tuple[int, int, str]]:
    """Start, end and plain form of the words in a run of signs: the longest that is listed, else a single sign."""
    lexicon = _lexicon()
    at, before = start, ""
    while at < end:
        if name := _name_of_person(text, at, start, end, before):
            yield at, at + len(name), name
            at, before = at + len(name), name
            continue
        if parted := _parted(text, at, end):
            yield at, at + parted[0], parted[1]
            at, before = at + parted[0], parted[1]
            continue
        for length in range(min(lexicon.longest_han, end - at), 0, -1):
            word = text[at : at + length]
            # 帮我下 is chat, but not in 帮我下载.
            is_cut = length > 2 and word in lexicon.chat and text[at + length - 1 : at + length + 1] in lexicon.meanings
            if length == 1 or (word in lexicon.meanings and not (is_cut and at + length < end)):
                yield at, at + length, word
                at, before = at + length, word
                break


def _name_of_person(text: str, at: int, start: int, end: int, before: str) -> str:
    """The name that begins here where both its ends are plain, whatever else its signs mean: 分给李建国负责; or "".

    Before it stands the beginning of the run of signs, 给, 和, or an act of several signs; after it the end of the
    run, 的, 和, or what somebody is to do.
    """
    known = _lexicon().meanings
    is_begun = at == start or before[-1:] in _BEFORE_NAMES
    is_begun = is_begun or (len(before) > 1 and any(sort is Sort.ACT for sort, _ in known.get(before, ())))
    if not is_begun or text[at] not in _SURNAMES or (text[at] in known and text[at] not in _NAMED_MEASURES):
        return ""
    if any(text[at : at + length] in known for length in (2, 3, 4) if at + length <= end):
        return ""
    for length in (3, 2):
        last = at + length
        name = text[at:last]
        is_ended = last == end or text[last : last + 1] in _AFTER_NAMES
        is_ended = is_ended or any(text.startswith(purpose, last) for purpose in _PURPOSES)
        if last <= end and is_ended and is_name_of_person(name) and not set(name[1:]) & _NEVER_IN_NAMES:
            return name if name[1:] not in known or len(name) == 2 else ""
    return ""


def _parted(text: str, at: int, end: int) -> tuple[int, str] | None:
    """Length and plain form of an act of two signs with a measure word between them: 归个档 is 归档."""
    for inside in _INSIDE_ACTS:
        last = at + 1 + len(inside)
        if last < end and text.startswith(inside, at + 1):
            word = text[at] + text[last]
            if any(sort is Sort.ACT for sort, _ in _lexicon().meanings.get(word, ())):
                return len(inside) + 2, word
    return None


@lru_cache(maxsize=4096)
def tokens_of(sentence: str, fixed: tuple[tuple[int, int], ...] = ()) -> tuple[Token, ...]:
    """The tokens of a sentence or a pattern in order; what lies in one of the `fixed` places is one value."""
    if not fixed:
        return _phrased(sentence, list(_read(sentence, 0, len(sentence))))
    found: list[Token] = []
    at = 0
    for start, end in sorted(fixed):
        found += _read(sentence, at, start)
        found.append(Token(Kind.FIXED, sentence[start:end], start, end))
        at = end
    found += _read(sentence, at, len(sentence))
    return _phrased(sentence, found)


def _phrased(sentence: str, tokens: list[Token]) -> tuple[Token, ...]:
    listed = _lexicon().meanings
    return tuple(reworded(list(_joined(sentence, tokens)), lambda word: listed.get(word, ())))


def _read(sentence: str, begin: int, finish: int) -> Iterable[Token]:
    plain = plain_form(sentence)
    for match in _PARTS.finditer(plain, begin, finish):
        start, end = match.span()
        match match.lastgroup:
            case "double" | "single" | "paired":
                yield Token(Kind.QUOTED, sentence[start + 1 : end - 1], start, end)
            case "han":
                yield from _han_of(sentence, plain, start, end)
            case "latin":
                yield from _latin(sentence, plain, start, end)
            case "owner" | "numero" as of:
                concepts = ((Sort.DIRECTION, "of"),) if of == "owner" else ()
                yield Token(Kind.WORD, sentence[start:end], start, end, concepts)
            case "counted" | "signed" as of:
                yield Token(Kind.NUMBER if of == "counted" else Kind.CODE, sentence[start:end], start, end)
            case "arrow":
                yield Token(Kind.WORD, sentence[start:end], start, end, _ARROW)
            case "sign":
                yield _word(sentence, start, end, plain[start:end])
            case Kind.SLOT:
                name = re.search(r"\{\{\s*(.*?)\s*\}\}", sentence[start:end])
                yield Token(Kind.SLOT, name[1] if name else "", start, end)
            case Kind.MARK if not _is_quiet(plain[start]):
                yield _word(sentence, start, end, plain[start:end])
            case str(kind):
                yield Token(Kind(kind), sentence[start:end], start, end)


def _is_quiet(sign: str) -> bool:
    """Whether a sign says nothing: punctuation and pictures; "~", "%", "<" and stray digits do."""
    category = unicodedata.category(sign)
    return sign == "|" or (category[0] == "P" and sign not in _SPEAKING) or category in {"So", "Mn"}


def _han_of(sentence: str, plain: str, start: int, end: int) -> Iterable[Token]:
    for begin, finish, word in _han(plain, start, end):
        yield _word(sentence, begin, finish, word)


def _latin(sentence: str, plain: str, start: int, end: int) -> Iterable[Token]:
    word = plain[start:end]
    if word.endswith("'s") and not is_listed(word):
        yield from _latin(sentence, plain, start, end - 2)
        yield Token(Kind.WORD, sentence[end - 2 : end], end - 2, end, ((Sort.DIRECTION, "of"),))
        return
    if "-" not in word or is_listed(word):
        yield _word(sentence, start, end, word)
        return
    for part in re.finditer("[^-]+", word):
        yield _word(sentence, start + part.start(), start + part.end(), part[0])


@lru_cache(maxsize=65536)
def _may_start(word: str) -> bool:
    """Whether a listed phrase may begin with a word, or with what a typing error made it of."""
    starts = _lexicon().phrase_starts
    return word in starts or (not is_listed(word) and any(is_misspelt(word, each) for each in starts))


def _respelt_phrase(several: Sequence[Token]) -> str:
    """The listed phrase of several words, one of which has a typing error: "bnak card"; empty for none."""
    known = _lexicon().meanings
    for at, token in enumerate(several):
        if not token.text.isalpha() or token.concepts[:1] != ((Sort.UNKNOWN, token.word),):
            continue
        before = "".join(f"{one.word} " for one in several[:at])
        after = "".join(f" {one.word}" for one in several[at + 1 :])
        for word in _words_of_phrases():
            if is_misspelt(token.word, word) and f"{before}{word}{after}" in known:
                return f"{before}{word}{after}"
    return ""


@cache
def _words_of_phrases() -> tuple[str, ...]:
    """The longer Latin words that stand in listed phrases."""
    listed = {word for phrase in _lexicon().meanings if " " in phrase for word in phrase.split()}
    return tuple(sorted(word for word in listed if len(word) > 3 and word.isascii() and word.isalpha()))


def _joined(sentence: str, tokens: list[Token]) -> Iterable[Token]:
    """Listed phrases of several words as one token."""
    lexicon = _lexicon()
    at = 0
    while at < len(tokens):
        if tokens[at].kind is not Kind.WORD or not _may_start(tokens[at].word):
            yield tokens[at]
            at += 1
            continue
        for length in range(min(lexicon.longest_phrase, len(tokens) - at), 1, -1):
            several = tokens[at : at + length]
            phrase = " ".join(token.word for token in several)
            if any(token.kind is not Kind.WORD for token in several):
                continue
            if phrase not in lexicon.meanings:
                phrase = _respelt_phrase(several)
            if phrase:
                yield _word(sentence, several[0].start, several[-1].end, phrase)
                at += length
                break
        else:
            yield tokens[at]
            at += 1
