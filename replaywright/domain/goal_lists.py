"""Common words of task sentences in Chinese and English, and what they mean.

General knowledge of how people ask for things: nothing here is of a site or of a skill. A word that is not listed is
compared letter by letter with the words of the skill's own sentences. The first meaning of a word is the one that it
has in a skill's sentence; in the sentence that is asked about, any of its meanings will do.
"""

# ruff: noqa: E501 - a line is one meaning with its words

ACTS = """
send: send, mail out, drop a, drop an, shoot, fire off, send off, 发送, 发, 发出, 寄, 寄出, 發送, 發, drop, drop a line, drop a line to, dispatch, 发给, 发到, 发个, 发去, 发一发, 寄给, 寄到, 寄去, 寄发
transfer: transfer, 转到, wire, remit, send, 转账, 转帐, 汇款, 转入, 转出, 转, 划转, 汇, 转进, 转去, 转往, 汇入, 汇到, 打款, 打给, 打到, 汇给, 转给, 转账给, 转账到, 转帐到, 划, 划到, 挪
create: create, add, make, report a, report an, make a, make an, new, set up, open a new, open new, open an issue, open a ticket, open a bug, file a, file an, file a new, raise a, raise an, 创建, 新建, 新增, 添加, 建立, 增加, 建, 加, 创建新的, 加入, 加到, 放入, 放到, 放进, 新, open a, open an, log a, log an, start a new, 开个, 开一个, 开一张, 开一条, 提个, 提一个, 提一条, 加上, 加个, 加条, 创立, 增设
insert: put, insert, place, add, 放, 塞进, 丢进, 扔进, 装进, 移入, 移进, 收进, 加入, 加到, 添加, 放入, 放到, 放进, 加进
write: leave the, 留, 留下, 写个, 写一个, 写条, 写一条, write, write a, write an, post, post a, leave a, give a, publish, 写, 撰写, 发表, 发布
delete: delete, del, rm, remove, erase, trash, get rid of, throw away, 删除, 删掉, 删, 移除, 刪除, 清除, 去掉, bin, toss, discard, scrap, wipe, zap, kill, throw out, do away with, 删去, 清掉, 扔掉, 扔了, 丢掉, 丢弃, 抹掉, 抹去, 弄掉
compose: compose
forward: forward, fwd, fw, pass on, relay, 转发, 轉發, 转, 转给, 转发给, 转寄, 转寄给, 转过去, pass along, send on, forward on, 转发到, 转发下, 转到
reply: reply, answer, respond, write back, 回复, 回覆, 答复, 回, 回信, 回应, 回复给, 答覆, 回复到, reply to, answer to, respond to, write back to, get back to
archive: to the archive, into the archive, in the archive, to archive, archive, 归档, 存档, 歸檔, file away, 归档到
mark: mark, flag, set, 标记, 标为, 标成, 标记为, 设为, 设置为, 标, 标作, 标上, 设成, 置为, 标记成
search: search, show me, find, look for, looking for, searching for, look up, seek, 搜索, 搜寻, 查找, 寻找, 搜, 找, 检索, 搜尋, hunt for, browse for, look around for, 搜搜, 搜一搜, 找找, 找一找, 查找下
query: query, check, look up, track, see, find out, search, find, 查询, 查看, 查, 看, 看看, 查查, 跟踪, 追踪, 搜索, 查找, 查一查, 查下, 查看下, 看一看, 瞧瞧, 瞧一下
search: 查询, 查
view: view, show, display, see, look at, 查看, 显示, 看, 看看, 浏览
read: read, 阅读, 读取, 读
cancel: cancel, call off, 取消, 退订, cxl, cncl, cancle, 取消掉, 撤单
revoke: withdraw, revoke, recall, retract, take back, unsend, undo, revert, 撤回, 撤销, 撤消, 收回, 作废, 撤
return: return, send back, 退货, 退回, 退
restore: restore, recover, undelete, bring back, 恢复, 还原, 找回
repeat: repeat, reorder, 重复, 再次
apply: apply, enter, use, redeem, 使用, 应用, 用, 兑换, make use of, 用上, 用掉, 套用, 用到, 用在, 使用到
download: download, fetch, 下载, 获取, 下載, dl, d/l, grab, 下载下
upload: upload, 上传, 上傳
print: print, 打印, 列印
freeze: freeze, block, lock, suspend, 冻结, 锁定, 停用, 冻上, 冻住, 锁住, 锁上, 锁, 冻
unfreeze: unfreeze, unblock, unlock, reactivate, 解冻, 解锁, 解除, 启用
report_loss: report lost, 挂失
deregister: deregister, unregister, 注销, 销户
book: book, reserve, 预订, 预定, 订, 定, 预约, 預訂, make a booking for, make a reservation for, 订下, 订好, 订个, 订一个, 订一间, 订一家, 定个, 定一个, 定一间, 定一下, 预留
schedule: schedule, plan, 安排, 定时
postpone: postpone, put off, 推迟, 延后, 延期
invite: invite, 邀请, 請來, 邀, 叫上, 喊上, 拉上, 约上, send an invitation, send an invite, send out an invitation
uninvite: uninvite, disinvite
close: close, shut, 关闭, 关掉, 关, 结束, 关单, 结单, 关了, 关上
open: open, reopen, 打开, 重新打开, 开启
assign: assign, allocate, hand over, give, 分配, 指派, 分派, 分, 派, 指定, reassign, delegate, hand to, give to, 交给, 转交, 转交给, 派给, 分给, 指给, 移交, 移交给, 分派给
comment: comment, remark, 评论
request: request, take, apply for, ask for, put in for, 申请, 请求, 请, 申請, 休, 请个
submit: submit, hand in, turn in, lodge, file, file a, file an, 提交, 递交, 上报, put in, log an, log a, record an, record a, claim, 报, 交, 报一笔, 提交一笔
approve: approve, accept, grant, agree to, 批准, 同意, 通过, 核准, 审批通过, sign off, sign off on, ok, green-light, greenlight, 批, 批一下, 准, 准了, 批了
reject: reject, decline, refuse, deny, 拒绝, 驳回, 否决, 退回
update: update, change, modify, edit, set, correct, alter, 修改, 更改, 改, 更新, 变更, 换成, 换为, 更换, 更换为, 改为, 编辑, 修正, 设为, 改一改, 改到, 换, 修改为, 修改成, 变更为, 更新为, 更新成
rename: 改成叫, rename, 重命名, 改名, 更名, change the name of, change the name of the, change the name, change name of, 改名为, 改名叫, 改叫, 更名为, 重新命名, 改名字
move: move, shift, should go, 移动, 移, 移到, 挪, 改期
copy: copy, duplicate, 复制, 拷贝
share: share, 分享, 共享, 分享出, give access, grant access, 共享给, 分享给
export: export, 导出, 輸出, 导成, 导出成, 导出来, 导一份, 导
import: import, 导入, 引入
merge: merge, combine, 合并
attend: attend, join, take part, participate, 参加, 出席, 参与
dispose: don't need it, don't need it anymore, don't need it any more, don't need it any longer, dont need it, dont need it anymore, do not need it anymore, don't want it, don't want it anymore, don't want it any more, no longer need it, no longer want it, have no use for it, 没用了, 没什么用了, 没有用了, 没啥用了, 已经没用了, 不需要它了, 用不到了, no longer need, no longer want, 不要了, 不想要了, 不需要了, 用不着了, 用不上了
save: save, store, keep, 保存, 存, 存为
buy: buy, purchase, check out, checkout, 购买, 买, 下单, 结算, 结账, 订购
pay: pay, 支付, 付款, 付, 缴, 缴纳
sort: sort, order by, 排序
filter: filter, narrow, 筛选, 过滤, 只看
attach: attach, enclose, include, 附上, 附加, 附带
login: log in, login, sign in, 登录, 登入
logout: log out, logout, sign out, 退出登录, 登出
stop: end, quit, halt, 停止, 终止, 停
start: start, begin, run, launch, 启动, 开始, 运行
follow: follow, subscribe, 关注, 订阅
unfollow: unfollow, unsubscribe, 取消关注
like: like, upvote, 点赞
call: call, ring, phone, dial, 打电话, 拨打, 致电
translate: translate, 翻译
select: select, choose, pick, 选择, 选, 挑选
confirm: confirm, verify, 确认, 核实
release: release, 释放
clear: clear, empty, 清空
create: leave the, 放, 打上, 打个, 贴上, 贴个, write, post, put, schedule a, schedule an, leave a, place
write: add, create, make
"""
"""What is done."""

THINGS = """
mail: mail, email, eml, msg, e-mail, message, letter, 邮件, 电子邮件, 信, 信件, 郵件, 邮, 电邮, 来信, 信函, 邮件们
sms: sms, text message, 短信, 简讯
draft: draft, 草稿
folder: folder, directory, 文件夹, 目录, mail folder, email folder
file: file, document, doc, 文件, 文档, 檔案
attachment: attachment, 附件
product: product, article, goods, 商品, 产品, 货品
item: item, items
cart: cart, shopping cart, basket, 购物车, 購物車
wishlist: wishlist, wish list, favourites, favorites, 收藏夹, 收藏, 心愿单
order: order, purchase order, 订单, 訂單, 单号, 订单号, 订单编号
subscription: subscription, 订阅
shipping: track, 跟踪, 追踪, 到哪了, 到哪里了, 到哪儿了, shipping, delivery, shipment, logistics, 物流, 快递, 配送, 发货, 送到哪了, 送到哪里了
status: status, state, progress, 状态, 进度, 情况
price: price, cost, 价格, 价钱, 费用
address: address, 地址
coupon: coupon, voucher, coupon code, discount code, promo code, voucher code, 优惠码, 优惠券, 折扣码, 优惠卷
gift_card: gift card, 礼品卡
review: review, rating, 评价, 点评
star: star, 星, 星级, 颗星
comment: comment, remark, 评论, 留言
money: money, funds, 钱, 款
account: account, 账户, 帐户, 账号
statement: statement, bank statement, account statement, 对账单, 流水, stmt
bill: bill, invoice, 发票, 账单
card: card, bank card, 银行卡, 卡
credit_card: credit card, 信用卡
debit_card: debit card, 借记卡
event: event, appointment, appt, mtg, meeting, calendar entry, calendar event, 日程, 活动, 会议, 事件, 约会, 行程
reminder: reminder, alarm, 提醒, 闹钟
room: room, 房间
meeting_room: meeting room, conference room, 会议室
issue: issue, ticket, bug, bug report, 工单, 问题, 缺陷, 议题, 任务单, bug单, 单子
label: label, tag, 标签
milestone: milestone, 里程碑
task: task, to-do, todo, 任务, 待办
project: project, 项目
calendar: calendar, diary, 日历
mailbox: mailbox, inbox, 邮箱, 信箱, 收件箱
shop: shop, store, 商店, 商城, 店, 店里, 网店, 商店里
annual_leave: annual leave, vacation, paid leave, holiday, 年假, 年休假
sick_leave: sick leave, 病假
leave: leave, absence, time off, 请假, 休假, 假期
request: request, application, 申请, 请求, 申请单
expense: expense, expense claim, expenses, expense report, reimbursement, 报销, 费用报销, 报销单, 开支
receipt: receipt, 收据, 小票
contact: contact, 联系人, 联络人
customer: customer, client, 客户, 顾客, 客戶
supplier: supplier, vendor, 供应商
employee: employee, colleague, 员工, 同事
user: user, member, 用户, 成员
group: group, team, 组, 群, 分组, 团队
list: list, 列表, 名单, 清单
report: report, 报告, 报表
flight: flight, plane, 航班, 机票, 飞机
train: train, 火车, 高铁, 列车
hotel: hotel, hotel room, 酒店, 宾馆, 旅馆
ticket: 门票, 车票
trip: trip, journey, 旅行
photo: photo, picture, image, 照片, 图片
video: video, 视频
page: page, 页面, 网页
post: post, article, blog post, 帖子, 文章, 博客
profile: profile, 个人资料, 资料
password: password, 密码
setting: setting, settings, 设置
table: table, 表格, 表
row: row, record, entry, 记录, 条目
payment: payment, 付款单
job: job, 作业
form: form, 表单
fax: fax, 传真
"""
"""What it is done to."""

ATTRIBUTES = """
title: 题为, subject, subj, title, titled, entitled, subject line, headline, 主题, 标题, 题目, 主旨, 題目, 标题叫, 主题叫, 题目叫
body: body, text, txt, msg, content, contents, message, saying, that says, wording, reading, 内容, 正文, 內容, 文字, 正文内容, 正文写, 内容写, 写着, 就说, 说
name: name, named, called, 名为, 名叫, 叫做, 叫, 名称, 名字, 姓名, 命名为, 取名, 名
title: named, called, 叫, 名为, 名称
description: description, desc, details, describing, 描述, 说明, 详情
priority: priority, prio, 优先级, 优先
category: category, type, kind, 类别, 分类, 类型, 种类
reference: reference, ref, memo, note, purpose, 附言, 备注, 用途, 摘要
phone: phone, telephone, phone number, mobile, mobile number, tel, cell phone, 电话, 手机, 电话号码, 手机号, 手机号码, 联系电话
email: email, e-mail, email address, mail address, 邮箱, 电子邮箱, 邮箱地址, 邮件地址, 邮件
quantity: quantity, qty, count, 数量, 件数
amount: amount, sum, 金额, 数额
format: format, file format, 格式
month: month, 月份
recipient: recipient, addressee, 收件人, 收信人, 收款人, 接收人
sender: sender, 发件人, 寄件人
code: code, 代码, 码
ending: ending in, ending with, ends in, last four digits, last digits, 尾号, 后四位, ending, ends with, finishing in, that ends in, it ends in, last 4 digits, last 4, 末四位, 尾数, 卡尾号, 最后四位
checkin: check-in, checkin, check in, checking in, arrival, arriving, 入住
checkout: check-out, checkout, check out, checking out, departure, departing, leaving, 退房, 离店
city: city, town, location, place, country, 城市, 地点
assignee: assignee, owner, 负责人, 处理人, 经办人
reason: 已经解决了, 已解决, 已经修好了, 已经修复, 已经修复了, 修复了, 已经完成了, 已经处理完了, 已经处理好了, 已经丢了, 弄丢了, 被盗刷了, 已经过期了, 买错了, 拍错了, 下错了, 下错单了, 买重了, 拍重了, 下重了, 订错了, 点错了, 填错了, 写错了, 搞错了, 弄错了, 选错了, 发错了, 建错了, 开错了, 传错了, 重复了, 是重复的, 买多了, 已修复, 已解决, 已处理, 已完成, 已上线, 已经上线了, 上线了, 已经修复上线了, 修复上线了, 已经是旧的, 是旧的, is gone, is missing, went missing, has gone missing, is spam, is just spam, is junk, is a duplicate, is done, is finished, is fixed, is resolved, is solved, is lost, got lost, was lost, is stolen, was stolen, has expired, is outdated, is obsolete, 丢了, 丢失了, 不见了, 被偷了, 被盗了, 完成了, 解决了, 修好了, 处理完了, 过期了, 作废了
start: start, start time, starts at, begins at, begin, beginning at, 开始, 开始时间, 起始时间
end: end, end time, ends at, finish, 结束, 结束时间
fresh: new, 新, 新的
colour: colour, color, 颜色
size: size, 尺寸, 尺码
language: language, 语言
"""
"""What of it is given."""

DIRECTIONS = """
to: 飞到, 去往, to, over to, last day, end date, final day, until, till, up to, towards, toward, onto, through, 给, 到, 至, 向, 往, 对, 进, 进去, 给到, 飞往, 前往, 去, 直到, 结束日期, 最后一天, 止, 截止, 結束, 飞
into: to, into, as, 为, 成, 作为, 成为, 改为, 往, 向, 进, 到
for: for, 给, 为, 为了, 关于, 就
with: with, 给, 跟, 与, 同, 用, w
from: from, first day, start date, starting date, 开始日期, 起始日期, 第一天, 从, 来自, 由, 自, 发来, 起, starting, starting from, beginning, sent by, came from, 寄来, 開始, 开始, 出发, 起飞, 启程, departing from, leaving from, flying from, out of, 发的, 发来的, 发过来的, 发给我的, 寄的, 寄来的, 寄给我的, 提交的, 递交的, 发起的
by: by, 由, 被
in: in, at, inside, within, 在, 里, 里面, 位于, 中, 下, 下面
on: on, 在, 于
of: of, 的
about: about, regarding, concerning, 关于, 有关
"""
"""Where to, where from, with what."""

GIVEN_TO = "给到"
"""Acts that end with these say where to as well: 转到, 交给."""

FREE = "into with in on of for by"
"""Directions that say nothing by themselves: they may stand anywhere. The others must stand in the skill's sentences."""

OPPOSITE = (frozenset({"from", "sender"}), frozenset({"to", "recipient"}))
"""Where from and where to: a value of one is not the other's."""

GOES_ALONG = (("to", "recipient"), ("from", "sender"), ("in", "city"))
"""Directions, and what a value that they stand before is called."""

QUALIFIERS = """
all: all, every, each, everything, everyone, all of, 所有, 全部, 每个, 每封, 所有人, 每个人, 每, 全, 全体, 一切, 全都, 统统, 通通, 通通都
eur: eur, euro, euros, €, 欧元
usd: usd, dollar, dollars, $, 美元, 美金
gbp: gbp, pound, pounds, £, 英镑
cny: cny, rmb, yuan, ¥, ￥, 元, 人民币, 块, 块钱
jpy: jpy, yen, 日元
read_state: read, 已读
unread_state: unread, 未读
"""
"""What must not be left out and not be added."""

FILLERS = """
a an the this that these those it its my our your his her their me us i we you mine and
is are was be being am has have having please pls plz kindly just now there here
want wants need needs wish would could can will shall may might
do does so well ok okay hi hello hey whose which should i'd i'll i'm let's it's there's number date get
u ur dated piece pieces pcs unit units
的 地 得 了 着 把 将 將 是 请 請 请你 麻烦 麻烦你 劳烦 劳驾 帮 帮我 帮忙 给我 替我 我 我的 我们 我想 我要 我想要 我需要 你 您 你好 您好
一下 一封 一个 一条 一笔 一份 一张 一则 一项 一篇 一件 一 个新的 新的 这封 这个 这条 那封 那个 该 此 这 那
可以 能 能不能 可不可以 可否 能否 是否可以 好吗 行吗 吗 吧 呢 啊 呀 哦 哈 谢谢 多谢 感谢 谢了 谢谢你 需要 想 想要 要 希望 请问
用 日期 时间 号 编号 号码 日 掉 出 好 并且 以及 和 及 现在 它 所 于 来 下来 起来 过来 掉 完 行 行了 好了 就行 就好 就行了 就好了 就可以 就可以了 即可 啦 嘛 呗 嗯 喔 噢 哟 咯 哎 诶 嘿 嗨 亲 辛苦 辛苦了 拜托 拜托了 谢谢啦 谢啦 多谢啦 感谢啦 非常感谢 十分感谢 帮个忙
这封 那封 一封 这个 那个 一个 这条 那条 一条 这笔 那笔 一笔 这份 那份 一份 这张 那张 一张 这件 那件 一件 这只 那只 一只 这台 那台 一台 这间 那间 一间 这本 那本 一本 这部 那部 一部 这篇 那篇 一篇 这项 那项 一项 这则 那则 一则 这位 那位 一位 这家 那家 一家 这场 那场 一场 这套 那套 一套 这段 那段 一段 分别 一起 too 我有 我有个 我有一个 我有一张 我有张 有个 有张 有一张 有一个 手上有 手里有 这里有 这儿有 有封 有条
"""
"""Words that say nothing by themselves."""

MEASURES = "x × 封 个 家 条 笔 份 张 件 只 台 间 本 部 篇 项 则 位 支 根 片 辆 册 顶"
"""They count single things and say nothing after a number; a box or a pair (盒, 双) is not listed, as it may hold several."""

NEVER_FIRST = "a an the is are was to be 是 的 为 了 于 请 把 将 一个 一封 一条 以及 and 号 编号 号码 一下"
"""A value without quotes does not begin or end with them."""

PHRASES = """
want to, would like, i'd like, would like to, would like you to, i'd like to, i'd like you to, need to, like to, like you to, can you, could you, will you, would you
can you please, could you please, would you please, would you mind, go ahead and, thank you, thanks, thanks a lot, thanks so much, thank you very much, thank u, many thanks, much appreciated, cheers, thx, ty, tks, tnx, let me, let us, wanna, gonna, gotta, lemme, hi there, hello there, hey there, good morning, good afternoon, dear all
to be, has to be, have to be, needs to be, need to be, i had, we had, i've got, i have got, i have, we have, we've got, there is, there's, here is, here's, here comes, oh wait, wait, hang on, hold on, respectively,
help me, help me to, for me, i want you to, want you to, need you to, would you kindly, in advance, right now, make a, make an, do a, write a, write an, give a
"""
"""Phrases that say nothing by themselves."""

QUESTIONS = "is are was were do does did has have had am who what when where why which how whose should 谁 什么 为什么 怎么 如何 哪 是否 有没有 何时"
"""A sentence that begins with one of these asks something, and nothing is to be done."""

ASKING = "谁 什么 哪 哪个 哪些 哪里 哪儿 几 多少 怎么 如何 为什么 是否 有没有 是不是 who whom"
"""Words that ask something wherever they stand outside of a value."""

POLITE_QUESTIONS = """
mind 可以 能 能不能 可不可以 可否 能否 好 行 请 麻烦 帮 帮我 帮忙 劳驾 拜托 好吗 行吗 please pls plz kindly can could will would may
"""
"""With these, 吗 and a question mark only make a wish polite."""

GERUND_AFTER = "mind"
"""After these, a verb in -ing is what somebody is asked to do: "would you mind closing"."""

VERB_PARTICLES = "on off in away back up out over access"
"""Second words of acts that may stand behind what the act is done to: "call order 5 off", "give a@x.com access"."""

WORDS_OF_FOUR = "rely even pint sore star stat stay sate pace plan lace able tale clam clea fist spot wite"
"""Words that are no typing error of a word of five letters."""

VERBAL = {
    "mail": ("send",),
    "label": ("create",),
    "expense": ("submit",),
    "comment": ("create", "insert", "write", "comment"),
    "review": ("write", "create"),
}
"""Things whose noun says what to do, where it begins the sentence: "Email bob", "Review the kettle"."""

DEFINITE = "the my our your his their this that these those any some"
"""Words before what somebody is or something is like, rather than before a name: "to the new colleague"."""

TELLERS = "i we he she they 我 我们 他 她 他们 她们"
"""Who did something, right before what was done."""

SURNAMES = "张 项 支"
"""Measure words that names begin with."""

PARTICLES = "of the de la le van von der den di da du del al bin"
"""Small words inside of names."""

IMPLIED = {
    "archive": ("act:move", "act:insert"),
    "send": ("act:write", "act:compose", "thing:mail", "attribute:fresh"),
    "book": ("attribute:fresh",),
    "submit": ("attribute:fresh",),
    "request": ("attribute:fresh",),
    "write": ("attribute:fresh",),
    "create": ("act:write",),
    "export": ("thing:file", "qualifier:all"),
    "download": ("thing:file",),
    "share": ("direction:to",),
    "reply": ("act:write",),
    "invite": ("act:attend",),
    "delete": ("act:dispose",),
    "cancel": ("act:dispose",),
    "rename": ("attribute:name", "attribute:title", "attribute:fresh"),
    "update": ("attribute:fresh",),
}
"""What goes without saying where an act is asked for: who sends a mail has written it, what is renamed is called
something, and what nobody wants any more is deleted. Each with its sort."""

SAME_FOR = {
    ("send", "mail"): ("write",),
    ("create", "event"): ("schedule",),
    ("create", "contact"): ("save",),
    ("transfer", "money"): ("pay", "move"),
    ("transfer", "account"): ("move",),
    ("create", "comment"): ("write", "insert"),
    ("assign", "issue"): ("forward",),
    ("request", "annual_leave"): ("book", "apply"),
    ("request", "sick_leave"): ("book", "apply"),
    ("request", "leave"): ("book", "apply"),
    ("submit", "expense"): ("create",),
    ("write", "review"): ("submit", "create"),
    ("apply", "coupon"): ("insert",),
    ("search", "flight"): ("query", "view"),
    ("invite", "event"): ("request",),
}
"""Acts that come to the same where they are done to such a thing: who writes somebody a mail, sends it."""

BEGINS_ENDS = (("start", "from"), ("checkin", "from"), ("end", "to"), ("checkout", "to"))
"""What a value is called, and the direction that may stand before it."""

PURPOSES = "处理 负责 跟进 解决 来处理 去处理 来负责 来跟进 去跟进 来解决 处理一下 跟进一下"
"""What somebody does with what is assigned to him, after his name: 分给王芳处理."""

PURPOSE_PHRASES = (
    "to handle, to fix, to work on, to deal with, to look into, to take care of, to look after, to solve, to resolve"
)
"""The same in English."""

ATTENDING = "guest guests attendee attendees participant participants invitee 嘉宾 参会人 参会者 与会者 与会人 参与者 参加者 来宾 受邀人"
"""What somebody is who is added to an event."""

LABELS_ONLY = "start end"
"""Names of values that are acts as well: they say nothing only right before a value."""

NUMBERED = "issue order task request bill"
"""Things that "#12" may be."""

LIGHT = "list"
"""Things that go without saying where several others are named: "export the customers"."""

MADE_BY = "request leave mail comment review report"
"""Things that come from somebody: "the request from Anna" is hers."""

SURNAMES_HAN = """
王 李 张 刘 陈 杨 赵 黄 周 吴 徐 孙 胡 朱 高 林 何 郭 马 罗 梁 宋 郑 谢 韩 唐 冯 于 董 萧 程 曹 袁 邓 许 傅 沈 曾 彭 吕 苏 卢 蒋 蔡 贾 丁 魏 薛 叶 阎 余 潘 杜 戴 夏 钟 汪 田 任 姜
范 方 石 姚 谭 廖 邹 熊 金 陆 郝 孔 白 崔 康 毛 邱 秦 江 史 顾 侯 邵 孟 龙 万 段 雷 钱 汤 尹 黎 易 常 武 乔 贺 赖 龚 文 庞 樊 兰 殷 施 陶 洪 翟 安 颜 倪 严 牛 温 芦 季 俞 章 鲁 葛 伍 韦 申 尤 毕
聂 丛 焦 向 柳 邢 路 岳 齐 沿 梅 莫 庄 辛 管 祝 左 涂 谷 祁 时 舒 耿 牟 卜 肖 詹 关 苗 凌 费 纪 靳 盛 童 欧 甄 项 曲 成 游 阳 裴 席 卫 查 屈 鲍 位 覃 霍 翁 隋 甘 景 薄 单 包 司 柏 宁 柯 阮 桂 闵 解 强 柴
华 车 冉 房 边 辜 吉 饶 刁 瞿 戚 丘 古 米 池 滕 晋 苑 邬 臧 畅 宫 来 苟 全 褚 廉 简 娄 盖 符 奚 木 穆 党 燕 郎 邸 冀 谈 姬 屠 连 郜 晏 栾 郁 商 蒙 计 喻 揭 窦 迟 宇 敖 糜 鄢 冷 卓 花 仇 艾 蓝 都 巩 稽 井
练 仲 乐 虞 卞 封 竺 冼 原 官 衣 楚 佟 栗 匡 宗 应 台 巫 鞠 僧 桑 荆 谌 银 扬 明 沙 薄 伏 岑 习 胥 保 和 小 老 阿 大 欧 诸 上 司 夏 皇 尉 公 慕 令
"""
"""Signs that a person's name begins with, or what people put before one: 小王."""

NO_SURNAMES = "小组 大家 老板 老师 小孩 公司 公告 和我 明天 明年 时间 全部 来访 原来 古老 成员 成功 应该 文件 文档 方便 安全 单位 单子 上级 上司 上周 上月 上次 万一 常用 高级 金额 边上 向上 解决 保安 强制 简单 商务 商家 大客户 小客户 关联 连续 左边 时候 于是 白天 夏天 项目 应急 官方 保密 温馨 路过 平时 全员 全体"
"""Words that begin like a name and are none."""

NUMERALS = "一 二 两 三 四 五 六 七 八 九 十 百 千 万 几 半 双"
PLACES_WITH_NUMERALS = "三亚 三明 三门峡 三沙 六安 六盘水 九江 九寨沟 十堰 四平 四川 五台山 五指山 二连浩特 万州 万宁 百色 千岛湖 双鸭山 七台河 八达岭"
"""Places whose names begin with a numeral: other values do not, without quotes."""

TELLING_VERBS = "写 填 叫 用 设 说 写上 写着 填上 注明 标明"
"""Between a name and its value: 附言写“…”."""

WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday mon tue wed thu fri sat sun"
"""No names of people."""

CONTAINERS = {"calendar": ("event",), "mailbox": ("mail", "folder"), "shop": ("product", "order"), "cart": ("product",)}
"""Places of a site that everything of a kind is in: "in my calendar" says no more of an event."""

WISHES = "want wants need needs should must please like 要 想要 需要 请 应该 得"
"""With one of these in its clause, a participle is what is to be done: "I want it closed", "should be closed"."""

IRREGULAR = """
sent: send, written: write, made: make, found: find, withdrawn: withdraw, taken: take, bought: buy, paid: pay
"""
"""Participles that have no -ed."""

NOBODY = """
who whom whoever what whatever which whichever someone somebody anyone anybody everyone everybody nobody something anything
everything nothing other others another any both him her them himself herself myself yourself themselves whose same same
谁 什么 哪 哪个 哪些 哪里 哪儿 某 某人 某个 别人 他人 其他人 大家 任何 任何人 自己 本人 他 她 他们 她们 咱们 人家 几
"""
"""Words that stand for a name and are none: a value without quotes has none of them."""

MAY = "can could may should shall must 可以 能 能不能 可不可以 可否 能否"
"""Before I and we, or after 我, they ask whether something may be done."""

BEEN = "been was were is are"
"""Before a participle they tell what is, not what is to be done."""

HAVING = "have has had get got"
"""So do these, without one of the next."""

WANTING = "like want wants need needs"
"""Words that make a wish of "have it closed"."""

DOERS = "i we you he she they"
"""Who has done what a participle right after it says."""

THAT_DAY = "那天 这天 那一天 这一天"
"""Right after a day they say nothing more."""

OUT_FROM = "from, out of, out from, 从, 自, 由"
"""Before where something is put they say that it is taken out of there."""

LOOKING = "看看 看 看一下 看下 看一看 瞧瞧 过目 查收"
"""What somebody does with what he is sent, after his address at the end: 转给 a@x.com 看看."""

MANNERS = "care caution attention ease pleasure thanks joy help"
"""After "with" they say how something is done."""

OTHER_WORDS = """
定做 定制 定金 定位 定价 定期 定义 定稿 定额 定点 定向 定居 订做 订制 订金 订正 订婚 放弃 放大 放映 放假 放心 放行 放款 放宽 放慢 留意 留存 留学 留神 留着 留任 加班 加急 加密 加速 加粗 加载 加盟 加倍 加热 加重
发现 发明 发愁 改进 改善 改良 转正 转换 转让 转移 查封 查验 查处 找零 删减 关联 关心 批量 批评 批注 批发 交换 交易 交流 报名 报警 报废 报价 报关 请教 请客 移民 移植 标价 标红 标注 换货 换算 冻干 取代 写作 建议 建模 回收 回放 回购 休学 休眠 准备 准时 分割 分离 分析 派生
鼠标 图标 目标 商标 坐标 指标 光标 浮标 日报 海报 电报 情报 报纸 头发 沙发 理发 开发 发夹 发卡 发箍 海关 开关 转椅 转盘 转换器 转接头 订书机 订书钉 打印机 放大镜 写字台 写字板 加湿器 加热器 加绒 加厚 加长 定型 定时器 移动电源 移动硬盘 标签机 开瓶器 开罐器 回形针 分线器 分配器 交换机 换气扇 删除键 查询机
"""
"""Words that have the sign of an act in them and mean something else: 定做 is not 定."""

OUT_OF = "出"
"""Between an act and where something is: 移出归档 is the opposite of 移入归档."""

EVERYTHING = "everything 全部 所有 一切 全都 统统 通通"
"""Words that may stand for all the things that a skill is done to."""

BETWEEN = "+ , ， 、 ; ； / & and plus 和 与 及 以及 还有"
"""Between the values of a list."""

CLOSING = "with on for from at and"
"""A name in capitals may end before these."""

NEGATIONS = """
not don't dont doesn't didn't never no without cannot can't won't shouldn't mustn't neither nor except unless stop
不 不要 不用 不必 别 别再 勿 请勿 没 没有 未 无需 无须 千万别 先别 不想 不再 不可 不能 不得 不准 不许 不批准 不同意 不需要 莫 甭 先不要 除了 除非
"""
"""Words that turn a sentence into its opposite."""

JOINS = """
and then after before afterwards but or if when while once also plus else instead cc bcc because
unless until without except only under over below above sorted attach attached
today tomorrow tonight yesterday asap immediately urgently quickly soon again twice thrice daily weekly monthly yearly hourly permanently temporarily secretly quietly
first last next later finally near nearby beside
和 与 及 或 或者 并 并且 而且 然后 再 接着 之后 以后 之前 以前 如果 若 但 但是 同时 顺便 还有 另外 抄送 密送 且 只 仅 超过 以下 以上 先 最后 、
今天 明天 后天 昨天 下周 上周 每天 每周 每月 每年 立即 立刻 马上 永久 临时 再次 下个月 上个月 其他 其它 之内 以内 之外 以外 是否 有没有 附近 周边 旁边 靠近 便宜 豪华 高档 舒适 安静 免费 优质 最 离 距离 左右 大约 大概 不超过 至少 最多 最新 最近 最早 第一 第二 上一 下一
"""
"""Words that begin a further demand: a value without quotes does not reach across them."""
