"""What people say around a task and what asks for nothing: greetings, excuses, thanks, wishes about when.

`(a|b)` stands for either, `(a|)` for a or nothing; one phrase a line, or several with commas between them. No value
without quotes reaches across one of them, long texts excepted: those may say anything.
"""

# ruff: noqa: E501 - a line is one kind of phrase

import re
from collections.abc import Iterable

CHAT = """
(hi|hello|hey|good morning|good afternoon|good evening|greetings|dear) (there|all|team|guys|folks|everyone|everybody|assistant|again|buddy|mate)
good (morning|afternoon|evening|day), long time no see, happy (monday|friday)
(i|we) hope (you're|you are|all is|everything is|this finds you|you are all) (well|fine|good|ok|great|doing well), how are you, how are you doing, how's it going, hope all is well
(i'm|i am|we're|) (so|very|really|) sorry (to bother you|to bother|for the trouble|for bothering you|for the hassle|for the inconvenience|to trouble you|to disturb you|to interrupt|to ask|to ask again|for asking)
excuse me, pardon me, sorry, apologies, my bad, oops, by the way, btw, fyi, also hi
(thanks|thank you|many thanks|thank u|thx|ty|cheers) (so much|very much|a lot|a bunch|a million|a ton|again|in advance|for that|for this|for your help|for the help|for helping|for your time|for your support|for everything|indeed)
(thanks|thank you) (so much|very much|a lot) (in advance|again|for your help|for the help), (i|i'd|i would|we|we'd|) (really|) appreciate (it|that|this|your help), appreciated, much obliged, would be (great|nice|lovely|awesome|perfect|super|helpful|fantastic)
(that|that'd|that would|it|it'd|it would) be (so|really|very|) (great|nice|lovely|awesome|perfect|super|helpful|fantastic|kind|kind of you), that'd be (great|nice|lovely|awesome|perfect), you're the best, you rock, you are the best, you're a star, you're a lifesaver, have a (nice|good|great|lovely) (day|one|evening|weekend|week), all the best, best regards, kind regards, best wishes, take care, talk soon, see ya, bye, goodbye
(when|whenever|once|if|as soon as) you (get|have|find|got|can find|can spare|have got) (a|some|the|a spare|a free|a quick) (minute|moment|second|sec|min|chance|time|opportunity)
(when|whenever|if) you (can|could|may|have time|get time|are free|get around to it|get to it|are able to|find time|get round to it|are around|feel like it|are ready), (when|whenever) (it's|it is|it suits|that's) (convenient|convenient for you|possible|ok|you), when possible, whenever possible, at your convenience, at your earliest convenience, at your leisure, in your own time
as (soon|quickly|fast) as (possible|you can), asap, a.s.a.p, right away, straight away, at once, immediately, right now, quickly, real quick, really quick, promptly, swiftly, without delay, speedily
(it's|it is|this is|that's|that is) (a bit|really|very|quite|kind of|kinda|pretty|rather|) (urgent|important|easy|simple|quick|nothing special|fine|all|it|all i need|all for now|everything|all for today), no (rush|hurry|worries|problem|stress|pressure), there's no (rush|hurry), (i'm|i am|we're|we are) in a (hurry|rush), i'm (busy|late|stuck|tired|lazy), take your time, not urgent, it's not urgent, nothing else, nothing more
(if|when) (possible|at all possible|it's possible|it is possible|that's ok|that's okay|that is ok|that's alright|that's possible|it's ok|it's okay|that works|that works for you|it isn't too much trouble|it's no trouble|it's not too much trouble|it's not too much to ask|you don't mind|you wouldn't mind|you'd be so kind|you would be so kind|you please|i may|i may ask|you will|it's all right|it suits you)
(i|we) (was|were|am|'m|are) wondering (if|whether) you (could|can|would|might|could please), (i|we) (was|were) hoping (you|that you|we) (could|can|would|might), i'm hoping (you|that you) (can|could), (could|may|can|might) i (ask|trouble|bother) you to (please|), would you be (able|so kind as|kind enough|willing|so good as) to, do you think you (could|can), do you mind, any chance you (could|can), is there any chance you (could|can), (would|could|can) you (be a dear and|be so kind and|just|please just|quickly|kindly|also please|maybe|possibly|perhaps|please go ahead and|go ahead and|help me|help me to|help me out and|do me a favor and|do me a favour and|help us)
(would|will) it be (ok|okay|alright|all right|fine|possible) (for you|if you could|) to, is it (ok|okay|alright|fine|possible) (for you|) to, (mind|do you mind|would you mind) (please|), (would|could|can) you mind, could i bother you to, any way you (could|can), do me a (favor|favour|solid|big favor) (and|), be a dear and, be so kind and, be so kind as to, would it be possible (for you|) to, (would|will) it be possible that you, (i|we) (would|'d) (really|) (like|love|need|want) (you|) to, i'd (love|really like|like|appreciate it if) (you|) to, i'd love (you|) to, i'd appreciate it if you (could|would|can)
(i|we) (really|just|kinda|kind of|simply|still|) (need|want|would like|have|gotta) to, i (really|just) (need|want) (you|this|it|that) (to|), i (also|) need you to, what (i|we) (need|want|'d like|would like) is to, what i need is, what i'd like is, my (request|wish|task|job) is to, your (task|job) is to, i (think|guess|believe|suppose) (we should|i should|you should|), all i (need|want) is (to|), all you (need|have) to do is, feel free to, make sure to, make sure you, be sure to, please do, do please, try to, please try to, (please|) help me (out and|out by|with this|with that|out), i have (a|one|a quick|a small|a little) (request|favor|favour|thing|favor to ask|favour to ask|task), i've got (a|one|a quick|a small) (request|favor|favour|thing|task), (a|one|just a|) (quick|small|little|tiny|simple) (one|request|thing|favor|favour|task|ask|job), one thing, here's (one|the thing|a task|what i need|what to do), here is what i need, here you go, as (discussed|agreed|usual|always|mentioned|said|promised|i said|you know), (i'd|i would|we'd|we would) be (really|very|so|most|) (grateful|thankful|happy|glad|obliged) if you (could|would|can), if you would, i mean, you know, let's see, let's go, let me see, come on, go on, be quick, hurry up, hurry
for (me|us) (please|now)
kind of, sort of, kinda, sorta, basically, actually, honestly, literally, obviously, simply, alright, all right, anyway, anyways, okay so, ok so, so yeah, yeah, yep, uh, um, umm, uhm, hmm, hm, er, erm, oh, ah, aha, wow, oh yeah, oh yes, yo, dude, bro, lol, haha, hehe, gosh, gee, alas, indeed, to be honest, tbh, imo, imho, in fact, in short, long story short, at this point, at the moment, please and thank you, pretty please, plox, plis, puh-lease, thankyou, ta, thnx, thnks, tysm, tyvm, much love, gracias, merci, xoxo
"""
"""English."""

CHAT_HAN = """
(你|您|大家|各位)(早上好|上午好|中午好|下午好|晚上好|好呀|好啊), 早上好, 上午好, 中午好, 下午好, 晚上好, 早安, 晚安, 早啊, 哈喽, 哈啰, 嗨喽, 在吗, 在么, 在不在, 有人吗, 在不, 你在吗, 您在吗
(实在|真|真是|很|非常|)(不好意思|抱歉|对不起|打扰了|打扰一下|打扰您了|打扰你了|打搅了|打搅一下), 打扰, 冒昧, 冒昧打扰, 不好意思打扰, 不好意思打扰一下
(有空|得空|有时间|方便|空闲|闲下来|空下来|忙完|不忙|有空闲)(的时候|的话|时|了|), (等|趁|你|您|等你|等您|趁你|趁您|如果|如果你|如果您|要是|要是你|假如|若|若是|你要是|你如果)(有空|得空|有时间|方便|可以|忙完|不忙|行|空了|有空闲)(的时候|的话|时|了|再|), 什么时候有空, 看你方便, 抽空, 抽个空, 抽时间, 顺手, 顺手帮我, 顺便帮我, 顺带帮我, 顺道
(如果|要是|若)(可以|可能|行|能|不麻烦|不介意|没问题)(的话|), 可以的话, 可能的话, 不麻烦的话, 不介意的话, 没问题的话, 行的话
(请|麻烦|麻烦你|麻烦您|劳烦|)(尽快|尽早|赶快|赶紧|快点|快些|快一点|抓紧|抓紧时间|迅速|马上|立刻|立即|即刻|速速|火速), 快点儿, 越快越好, 尽量快, 尽量快点, 尽快处理, 尽快办理
(不急|不着急|别急|不用急|不用着急|不赶时间|慢慢来|不慌), (我|我们|)(这边|现在|)(比较|有点|有点儿|挺|很|非常|)(急|着急|急用|赶时间), 很急, 急用, 急急急, 有点急, 在线等, 在线等挺急的, 很重要, 这很重要
(麻烦|辛苦|劳烦|有劳|拜托|劳驾|烦请|烦劳|请|还请|敬请|恳请)(你|您|你们|)(了|啦|咯|喽|啊|呀|帮忙|帮我|帮我们|帮个忙|给我|替我|协助|)(一下|), 麻烦您帮我, 麻烦你帮我, 麻烦您帮忙, 麻烦你帮忙, 麻烦帮我, 麻烦帮忙, 辛苦帮我, 有劳, 有劳了, 受累, 费心, 费心了, 请您, 请你们, 烦请, 烦请您, 给您添麻烦了, 给你添麻烦了, 添麻烦了, 请多关照, 麻烦咯, 麻烦下
(非常|十分|万分|太|真的|真是|真|先|提前|多多|)(感谢|谢谢)(你|您|大家|了|啦|咯|哈|呀|啊|哦|您了|你了|你啦|您啦|哟|各位|配合|帮忙|帮助|支持|您的帮助|你的帮助|您的支持|您的配合|), 谢谢谢谢, 谢谢哈, 谢谢您嘞, 感激不尽, 不胜感激, 太感谢了, 太谢谢了, 感恩, 谢咯, 谢啦, 谢过, 万分感激, 先谢了, 先谢过, 先谢谢, 爱你, 比心, 么么哒, 祝好, 此致, 顺祝商祺, 祝你愉快, 祝您愉快, 祝您生活愉快, 祝工作顺利, 回头见, 再见, 拜拜
(你|您|你们|)(能|可以|能不能|可不可以|可否|能否|是否可以|方便|是否方便)(帮我|帮忙|帮一下|帮个忙|帮下忙|替我|给我|帮帮我|帮我们|帮下|麻烦你|麻烦您|请你|请您|)(一下|下|), 帮我一下, 帮我个忙, 帮我下, 帮下我, 帮下忙, 帮帮我, 帮帮忙, 帮一下, 帮一下忙, 给帮个忙, 帮咱, 帮我们, 替我们, 帮俺, 请帮我, 请帮忙, 请帮, 请替我, 请给我, 请为我, 为我, 帮着, 帮手
(我|我们|咱|咱们|俺|本人)(这边|这里|现在|就|就是|只是|)(想|要|想要|需要|希望|想请你|想请您|想麻烦你|想麻烦您|希望你|希望您|希望能|想让你|想让您|要你|需要你|需要您|得), 想请你, 想请您, 想请你帮忙, 想请你帮我, 想麻烦你, 想麻烦您, 想拜托你, 我想请你帮忙, 我想请你帮我, 希望能, 希望可以, 有个事, 有件事, 有个事儿, 有个事情, 有个小事, 有个请求, 有个忙, 我有个事, 我有件事, 跟你说, 跟你说个事, 跟你说一声, 是这样的, 是这样, 事情是这样的, 情况是这样的, 你看能不能, 您看能不能, 看能不能, 看看能不能, 看看能否, 看能否, 我觉得, 那个啥, 那啥, 话说, 对了, 话说回来, 其实, 说实话, 老实说, 总之, 反正, 那就, 那么, 就是说, 然后呢, 好吧, 好的, 好哒, 好嘞, 好滴, 行吧, 可以吗, 可以么, 可以不, 可以嘛, 好不好, 好么, 行不行, 行么, 行不, 成吗, 成不, 没问题吧, 可以吧, 对吧, 吧亲, 嘻嘻, 哈哈, 哈哈哈, 嘿嘿, 呵呵, 呃, 唉, 哎呀, 哎哟, 哎呦, 嗯嗯, 噢噢, 哇, 嘞, 咧, 喽, 亲亲, 亲爱的, 小助手, 小助理, 小姐姐, 小哥哥, 大佬, 亲们, 各位好, 大家好, 老铁, 就这样, 就这些, 就这么多, 没别的, 没别的了, 没有别的了, 没其他的了, 没有其他的了, 先这样, 按老规矩, 像往常一样, 如题, 跟以前一样, 小事一桩, 一下下, 一下哈, 一下吧, 一下呗, 一下呢, 下哈, 下吧, 下呗
"""
"""Chinese."""

COMPLEMENTS = "过去 出去 进去 上去 下去 回去 过 一遍"
"""Right after an act, they only say that it is done: 发过去, 存下."""

MORNING = "早上 上午 清晨 早晨 凌晨"
"""Right before a time before noon they say nothing more; 下午 3:00 is another time than 3:00."""

HAVE_IT = "(can|could|may|might) (i|we) (please|kindly|just|) (have|get)"
"""Before a participle, a polite order: "can I have it exported"."""

SLIPS = """
teh, hte, adn, nad, thsi, tihs, taht, htat, tha, yuo, yoru, cuold, coudl, woudl, wuold, coul, shoudl, whith, wiht, wtih, helo, hallo, hellow, pleas, plaese, plase, plz, plss, plzz, plse, pleaze, pleese, kindley, thansk, thnaks, tahnks, thanx, im, ive, id like to, i woud like to, wnat, wnat to, wanna to, waht, jsut, juts, ned to, nede, liek
"""
"""Typing errors of words that say nothing."""

MISSPELT = "please kindly thanks could would"
"""Words that say nothing, any typing error of which is forgiven."""

REASONING = (
    "because, coz, cuz, bcs, as i, as we, as it, as it's, since i, since we, since it, since it's, 因为, 由于, 毕竟"
)
"""They begin a clause that says why."""


GREETINGS = "hi hello hey"
"""They greet at the beginning of a clause; after what is done they are part of what is meant: "search for hello kitty"."""

TEMPORARY = "for now, for the time being, for a while"
"""More than the act itself asks for."""


def phrases(text: str) -> Iterable[str]:
    """All phrases of a list, its alternatives written out."""
    for given in re.split(r"[,\n]", text):
        for phrase in _written_out(given):
            if plain := " ".join(phrase.split()):
                yield plain
                yield plain.replace("'s ", " 's ")  # as sentences are taken apart, where the word is on no list


def _written_out(phrase: str) -> Iterable[str]:
    choice = re.search(r"\(([^()]*)\)", phrase)
    if choice is None:
        yield phrase
        return
    for one in choice[1].split("|"):
        yield from _written_out(phrase[: choice.start()] + one + phrase[choice.end() :])
