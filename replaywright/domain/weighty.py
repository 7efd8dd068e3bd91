"""Deeds with consequences, by the words for them: what a goal does not ask for is not done, whatever a page says.

A model that plans reads the page, and a page may tell it to do things. So what a planned step says, and what the
element that was chosen for it says of itself, is compared with the goal, which no page has written. The words are
general knowledge about interfaces, folded as `wording.words_of` folds them; "submit", "confirm" or "OK" say nothing by
themselves.
"""

from collections.abc import Iterable

from replaywright.domain.wording import words_of

_ON_CONTROLS = {
    "deleting": """delete, remove, erase, trash, wipe, destroy, empty trash, loschen, entfernen, supprimer, effacer,
        eliminar, borrar, 删除, 刪除, 移除, 清空""",
    "sending": """send, publish, share, tweet, senden, absenden, versenden, veroffentlichen, teilen, envoyer, publier,
        partager, enviar, publicar, compartir, 发送, 發送, 发布, 分享""",
    "paying": """buy, purchase, pay, checkout, check out, place order, order now, submit order, confirm order,
        order button, bestellen, kaufen, bezahlen, acheter, payer, commander, comprar, pagar, 购买, 支付, 付款, 下单""",
    "transferring": "transfer, wire money, withdraw, uberweisen, virement, transferir, 转账, 汇款, 提现",
    "ending": """unsubscribe, deactivate, close account, terminate, revoke, kundigen, deaktivieren, resilier,
        desactiver, cancelar suscripcion, 退订, 停用, 销户""",
}
_IN_GOALS = {
    "deleting": "clear, clean up, empty, get rid, discard, 删, 清理, 去掉",
    "sending": """email, mail, write, message, reply, answer, forward, post, invite, tell, schreiben, antworten, mailen,
        ecrire, repondre, escribir, responder, 发, 寄, 写信, 写邮件, 回复, 转发, 告诉""",
    "paying": "order, book, reserve, get, subscribe, buchen, reservieren, reserver, reservar, pedir, 订, 买, 预订",
    "transferring": "send money, pay, 转, 汇",
    "ending": "cancel, end, stop, quit, close, abbestellen, annuler, cancelar, 取消, 注销, 关闭",
}
"""More words by which people ask for the same."""

_EXCEPTED = ("已发送", "已删除", "已分享")
"""Folders and states: what was done, not what is to be done."""


def _listed(text: str) -> frozenset[tuple[str, ...]]:
    return frozenset(words_of(phrase) for phrase in text.replace("\n", " ").split(","))


_DONE = {deed: _listed(words) for deed, words in _ON_CONTROLS.items()}
_ASKED = {deed: _DONE[deed] | _listed(words) for deed, words in _IN_GOALS.items()}


def deeds_in(text: str) -> frozenset[str]:
    """The deeds that a control, or a step about it, speaks of."""
    for excepted in _EXCEPTED:
        text = text.replace(excepted, " ")
    return _found(text, _DONE)


def deeds_asked(goal: str, verbs: Iterable[str] = ()) -> frozenset[str]:
    """The deeds that a goal, or somebody who has only read the goal, asks for."""
    return frozenset().union(*(_found(text, _ASKED) for text in (goal, *verbs)))


def objection(said: Iterable[str], asked: frozenset[str]) -> str:
    """Why what these texts speak of must not be done for a goal that asks for `asked`; empty when nothing objects."""
    for text in said:
        if extra := deeds_in(text) - asked:
            return f"{text[:80]!r} is about {min(extra)}, which the goal does not ask for"
    return ""


def _found(text: str, known: dict[str, frozenset[tuple[str, ...]]]) -> frozenset[str]:
    words = words_of(text)
    lengths = range(1, 1 + max(len(phrase) for phrases in known.values() for phrase in phrases))
    spans = {words[at : at + length] for length in lengths for at in range(len(words) - length + 1)}
    return frozenset(deed for deed, phrases in known.items() if phrases & spans)
