"""Common words on controls, in the languages that sites are most often in, and what they mean.

General knowledge about interfaces: nothing here is from a site, and what is missing is compared letter by letter.
Words are written as `wording.words_of` folds them: small letters without accents.
"""


def _listed(text: str) -> frozenset[str]:
    return frozenset(text.split())


MEANINGS = """
login: log in, login, sign in, signin, logon, log on, anmelden, einloggen, login, connexion, se connecter
login: iniciar sesion, entrar, 登录, 登入
logout: log out, logout, sign out, signout, log off, abmelden, ausloggen, deconnexion, se deconnecter
logout: cerrar sesion, 退出登录, 退出, 登出, 注销
register: register, sign up, signup, create account, registrieren, s'inscrire, registrarse, 注册
send: send, submit, senden, abschicken, absenden, versenden, envoyer, enviar, einreichen, soumettre, 发送, 提交
save: save, store, speichern, sichern, enregistrer, guardar, 保存, 存
delete: delete, remove, trash, erase, loschen, entfernen, supprimer, effacer, eliminar, borrar, 删除, 刪除, 移除
discard: discard, verwerfen, abandonner, descartar, 放弃, 丢弃
cancel: cancel, abort, never mind, abbrechen, annuler, cancelar, 取消
close: close, dismiss, schliessen, fermer, cerrar, 关闭
edit: edit, modify, bearbeiten, modifier, editer, editar, 编辑, 修改
add: add, create, hinzufugen, anlegen, erstellen, ajouter, creer, anadir, agregar, crear, 添加, 新增, 创建
new: new, neu, neue, neuer, neues, nouveau, nouvelle, nuevo, nueva, 新建, 新
search: search, find, suchen, suche, finden, durchsuchen, rechercher, recherche, chercher, buscar, 搜索, 查找
reply: reply, answer, respond, antworten, repondre, responder, 回复, 答复
forward: forward, pass on, weiterleiten, transferer, reenviar, 转发
compose: compose, write, new message, new mail, verfassen, schreiben, rediger, nouveau message, redactar, 写邮件, 写信
inbox: inbox, posteingang, boite de reception, bandeja de entrada, 收件箱
sent: sent, gesendet, envoyes, enviados, 已发送
draft: draft, drafts, entwurf, entwurfe, brouillon, brouillons, borrador, borradores, 草稿, 草稿箱
settings: settings, preferences, options, einstellungen, optionen, parametres, reglages, configuracion, ajustes
settings: 设置, 偏好设置, 选项
next: next, continue, weiter, fortfahren, suivant, continuer, siguiente, continuar, 下一步, 继续, 下一页
back: back, go back, zuruck, retour, volver, atras, 返回
previous: previous, vorherige, vorheriger, precedent, anterior, 上一步, 上一页
confirm: confirm, bestatigen, confirmer, confirmar, 确认
ok: ok, okay, 确定, 好的
yes: yes, ja, oui, si, 是
no: no, nein, non, 否
accept: accept, agree, allow, akzeptieren, zustimmen, erlauben, accepter, autoriser, aceptar, permitir, 接受, 同意, 允许
reject: reject, decline, refuse, deny, ablehnen, refuser, rechazar, 拒绝
apply: apply, anwenden, ubernehmen, appliquer, aplicar, 应用
reset: reset, zurucksetzen, reinitialiser, restablecer, 重置
clear: clear, leeren, vider, limpiar, 清空, 清除
undo: undo, ruckgangig, annuler l'action, deshacer, 撤销
help: help, support, hilfe, aide, ayuda, 帮助
home: home, start page, homepage, startseite, accueil, inicio, 首页, 主页
open: open, offnen, ouvrir, abrir, 打开
show: show, view, display, anzeigen, ansehen, afficher, voir, mostrar, ver, 显示, 查看
hide: hide, verbergen, ausblenden, masquer, ocultar, 隐藏
print: print, drucken, imprimer, imprimir, 打印
download: download, herunterladen, telecharger, descargar, 下载
upload: upload, hochladen, televerser, subir, 上传
import: import, importieren, importer, importar, 导入
export: export, exportieren, exporter, exportar, 导出
copy: copy, kopieren, copier, copiar, 复制
paste: paste, einfugen, coller, pegar, 粘贴
archive: archive, archivieren, archiver, archivar, 归档
buy: buy, purchase, kaufen, acheter, comprar, 购买
pay: pay, bezahlen, zahlen, payer, pagar, 支付, 付款
order: order, place order, bestellen, commander, pedir, 下单, 订购
filter: filter, filtern, filtrer, filtrar, 筛选, 过滤
refresh: refresh, reload, aktualisieren, neu laden, actualiser, actualizar, 刷新
share: share, teilen, partager, compartir, 分享
start: start, begin, starten, beginnen, demarrer, commencer, iniciar, empezar, 开始
stop: stop, anhalten, stoppen, arreter, detener, 停止
select: select, choose, auswahlen, wahlen, choisir, selectionner, seleccionar, elegir, 选择, 选
change: change, update, andern, changer, cambiar, 更新
changes: changes, anderung, anderungen, changements, cambios, 更改, 变更
history: history, verlauf, historique, historial, 历史, 历史记录
password: password, passphrase, passcode, passwort, kennwort, mot de passe, contrasena, 密码
username: username, user name, login name, account name, benutzername, nom d'utilisateur, identifiant
username: nombre de usuario, usuario, 用户名
name: name, full name, nom, nombre, 姓名, 名称
first_name: first name, given name, forename, vorname, prenom, 名字
last_name: last name, surname, family name, nachname, familienname, nom de famille, apellido, apellidos, 姓氏, 姓
email: email, e mail, mail address, email address, e mail adresse, e mail address, adresse e mail, courriel
email: correo, correo electronico, 电子邮件, 邮箱, 电子邮件地址, 邮件地址
mail: mail, mails, post, courrier, 邮件, 信件
address: address, adresse, anschrift, direccion, 地址
phone: phone, telephone, telefon, telefono, mobile, 电话, 手机
subject: subject, subject line, topic, betreff, objet, sujet, asunto, 主题
message: message, messages, message text, message body, body, nachricht, nachrichten, mensaje, mensajes, 正文, 消息
message: 信息, 内容
recipient: to, recipient, recipients, an, empfanger, a, destinataire, para, destinatario, 收件人
sender: from, sender, von, absender, de, expediteur, remitente, 发件人
cc: cc, kopie, 抄送
date: date, datum, fecha, 日期
time: time, uhrzeit, heure, hora, 时间
priority: priority, importance, prioritat, wichtigkeit, priorite, prioridad, 优先级, 重要性
signature: signature, signatur, unterschrift, firma, 签名
users: users, benutzer, nutzer, utilisateurs, usuarios, 用户
user: user, utilisateur
groups: groups, gruppen, groupes, grupos, 组, 群组
account: account, konto, compte, cuenta, 账户, 帐户, 账号
city: city, town, stadt, ort, ville, ciudad, 城市
country: country, land, pays, pais, 国家
all: all, alle, alles, tous, tout, todo, todos, 全部, 所有, 全
older: older, older messages, alter, altere, plus ancien, 更早, 较早
newer: newer, newer messages, neuer, neuere, plus recent, 更新的
display_name: display name, your name, anzeigename, nom affiche, 显示名称
page: page, seite, pagina, 页
file: file, datei, fichier, archivo, 文件
cart: cart, basket, warenkorb, panier, carrito, 购物车
checkout: checkout, check out, kasse, 结账
as: as, als, en tant que, como, 为
"""
"""One meaning a line: its name and the phrases that have it, with commas."""

TURNING = _listed("""
    not no don dont never without cancel discard delete remove clear reset undo revert reject decline deny disable
    dismiss stop skip out off up down back previous all and or as later another again copy new permanently everyone
    continue template draft password anonymous guest close first last
    nicht kein keine ohne abbrechen verwerfen loschen entfernen zurucksetzen ablehnen zuruck alle und oder als spater
    ne pas sans annuler supprimer effacer refuser retour tout tous et ou
    sin cancelar descartar eliminar borrar rechazar quitar atras todo todos y o como
    消 删 刪 削 除 不 拒 否 全 和 并 为
""")
"""Words that turn what a control does into something else when only one of two wordings has them."""
ACTIONS = _listed("""
    login logout register send save delete discard cancel close edit add search reply forward compose confirm
    accept reject apply reset clear undo open show hide print download upload import export copy paste archive buy pay
    order checkout filter refresh share start stop select change back next previous
""")
"""Meanings of words for what a control does: with one more or one less it does something else."""
ARTICLES = _listed("""
    the a an der die das den ein eine einen le la les un une el los las
""")
FILLING = ARTICLES | _listed("""
    now jetzt your my our this please ihr ihre votre su
""")
"""Words that say nothing by themselves."""
ONLY_ALONE = _listed("""
    to from an von a de para cc
""")
"""Words that name a field when they stand alone, and only join others otherwise."""
