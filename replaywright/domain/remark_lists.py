"""How people tell, around a task, what led to it: words of remarks, and words that keep a clause from being one."""

# ruff: noqa: E501 - a line is one kind of word

GREETINGS = "morning afternoon evening greetings hiya heya howdy yo hi hello hey good everyone all team folks guys there 早 早安 各位 亲 在 在吗"
"""A first clause of nothing but these greets."""

DEMANDS = """
want wants wanted wish need needs needed should must would could can can't may might shall will prefer prefers preferred like likes please only
just-in-case let lets ask-for asked requested demanded told said insisted expects expected hopes hoping make makes sure remember forget ensure
joking kidding nevermind ignore scratch instead rather also too additionally plus extra including included includes include with without
has-to have-to had-to gotta supposed ought try
要 想要 想 需要 希望 得 必须 应该 应当 须 务必 记得 别忘 最好 只 只要 只能 请 请你 帮 帮我 帮忙 麻烦 给我 替我 让 叫 把 将 顺便 然后 再 又 并 并且 还 还有 另外 以及 而且
如果 要是 假如 万一 才 就 等 先 后 之前 之后 以前 以后 算 算了 罢 罢了 免 停 撤 够 够了 开玩笑 忽略 作罢 当 除 除了 除非 不 没 没有 别 勿 未 非 无 吗 呢 么 哪 谁 什么
"""
"""A clause with one of these asks for more, takes something back, or sets a condition."""

COUNTS = """
one two three four five six seven eight nine ten dozen couple both half double twice several few many more less some any other others another same
一 两 二 三 四 五 六 七 八 九 十 百 千 万 半 双 每 各 都 全 仅 最 多少 几 其他 其它 另 别的
"""
"""A clause with one of these may say how many or which."""

SUBJECTS = """
i we he she they someone somebody everybody everyone it's he's she's we're they're i'm i've we've they've he'd she'd my our his her their the this that a an
"""
"""A remark in English begins with one of these, or with a name."""

PERSONS = """
colleague colleagues coworker coworkers boss manager supervisor director ceo cfo cto accountant accountants accounting assistant secretary teammate teammates team
friend friends wife husband partner mother father mom dad son daughter brother sister niece nephew parents kids child children landlord tenant neighbour neighbor
customer customers client clients supplier vendor lawyer doctor dentist teacher student students intern trainee employee employees user member guest auditor auditors
finance hr legal sales marketing management people guy guys reviewer tester developer engineer contractor buddy mate admin administrator
同事 老板 经理 主管 领导 会计 财务 助理 秘书 朋友 老婆 老公 妻子 丈夫 爱人 父母 爸妈 爸爸 妈妈 孩子 儿子 女儿 房东 邻居 客户 客人 顾客 供应商 律师 医生 老师 学生 实习生 员工 用户 审计 甲方 对方 他们 她们 我们 大家 人家 组长 总监 师傅 队友 伙伴
"""
"""People of whom something may be told, and who may be named before an address."""

STATES = """
full broken down empty sick ill off back out away gone dead late waiting mess over done here there wrong outdated obsolete crowded slow leaving retired busy
stuck driving travelling traveling abroad holiday vacation leave lunch office meeting asking chasing pushing complaining visiting hurt lost stolen missing
office hospital birthday emergency mistake duplicate error typo accident quarter month year end closing audit season deadline-day tired sorry sure glad confused
angry upset nervous curious moved married pregnant home ready unavailable unreachable unwell online offline leaking flooded damaged cracked skimmed hacked compromised cluttered old
"""
"""What something or somebody is said to be, where that asks for nothing."""

PAST = """
lost found broke bought saw met got forgot came went left quit moved sold stole stolen spent thought noticed clicked typed picked chose was were mixed messed screwed ran hit dropped
finished started returned received realised realized discovered mistook misread mistyped misplaced ordered booked confirmed answered replied agreed approved complained called texted phoned
retired resigned joined married signed changed switched broken crashed failed happened died expired arrived fell hurt heard read learned learnt missed messed damaged overslept
"""
"""Verbs of what somebody did or what happened."""

ONGOING = """
keep keeps wait waits hurts hurt hurting waiting asking chasing pushing nagging calling complaining leaking screaming panicking
"""
"""Verbs of what goes on."""

STARTS = """
back from, just back from, fresh back from, my mistake, my fault, wrong button, wrong one, wrong click, long day, busy day, month end, year end, end of month, end of the month
"""
"""Beginnings of remarks that have no verb."""

HAN_ENDS = """
在催 催着 催我 催了 在等 等着 等着呢 在问 问起 问我 问了 着急 很急 急 急着要 急着用 急用 要用 要看 要来 要查 要审 要走 要开会 等着用 等着看 等着要 用得着 在看 在查 在开会 在忙 在路上 在外面 在出差 出差中 开会中 忙 很忙 太忙 好忙 急得很 回来 到期 满 坏 乱 太乱 很乱 好乱 太多 旧的 老的
"""
"""What a remark in Chinese may end with."""

HAN_SLIPS = "错 重 漏 反 混 晚 早 慢 迟 乱 坏 丢 满"
"""After an act they say what went wrong with it: 拍错, 买重."""

BESIDE_STATES = """
a an the my our your his her this that it me us and on in from of for at by now again today already just very so really too completely totally bit all off since week morning
"""
"""Words that may stand beside a state: more than these may say more of the task."""

WHERE = "at in by via with for from to on into near until through as"
"""After what was asked for, a remark with one of these may say more of it: "we met at the station"."""

TAG_WORDS = "ticket case task todo req request jira ref 工单 任务 待办 需求 urgent asap important 紧急 急"
"""What kind of note a task is, before a colon or in brackets."""
