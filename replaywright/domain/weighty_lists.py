"""Words for deeds with consequences, in the languages that sites and people are most often in.

General knowledge about interfaces, as `wording_lists` is: phrases with commas between them, in any form that
`wording.words_of` folds. What is missing here is not known as a deed.
"""

ON_CONTROLS = {
    "deleting": """
        delete, remove, erase, trash, wipe, destroy, empty trash, loschen, entfernen, supprimer,
        effacer, eliminar, borrar, 删除, 刪除, 移除, 清空, delete account, excluir, apagar, elimina,
        cancella, verwijderen, wissen, usun, skasuj, kaldir, hapus, xoa, удалить, удаление, стереть,
        видалити, 削除, 消去, 삭제, حذف, احذف, מחק, हटाएं, ลบ
    """,
    "sending": """
        send, publish, share, tweet, senden, absenden, versenden, veroffentlichen, teilen, envoyer,
        publier, partager, enviar, publicar, compartir, 发送, 發送, 发布, 分享, invia, pubblica,
        condividi, verzenden, delen, wyslij, udostepnij, gonder, paylas, kirim, bagikan, отправить,
        опубликовать, поделиться, надіслати, 送信, 公開, 共有, 전송, 보내기, 공유, إرسال, ارسل, שלח,
        भेजें
    """,
    "paying": """
        buy, purchase, pay, checkout, check out, place order, order now, submit order, confirm order,
        order button, bestellen, kaufen, bezahlen, acheter, payer, commander, comprar, pagar, 购买,
        支付, 付款, 下单, paga, acquista, compra, betalen, kopen, zaplac, satin al, bayar, beli,
        оплатить, купить, заказать, сплатити, 購入, 支払う, 결제, 구매, ادفع, شراء, שלם, खरीदें
    """,
    "transferring": """
        transfer, wire money, withdraw, uberweisen, uberweisung, virement, transferir, 转账, 汇款,
        提现, trasferisci, bonifico, overmaken, przelej, przelew, перевести, перевод, переказати, 送金,
        振込, 송금, 이체, تحويل
    """,
    "ending": """
        unsubscribe, deactivate, close account, terminate, revoke, kundigen, deaktivieren, resilier,
        desactiver, cancelar suscripcion, 退订, 停用, 销户, cancel subscription, cancel account,
        end subscription, disable, turn off, disattiva, opzeggen, отписаться, отключить, 解約, 退会,
        해지, 탈퇴, إلغاء الاشتراك
    """,
    "granting": """
        grant, allow access, authorize, authorise, make public, make admin, add admin, change email,
        change password, reset password, export all, export data, invite, 授权, 公开, 邀请
    """,
}
"""On buttons and links, and in what is said of them."""

IN_GOALS = {
    "deleting": """
        clear, clean up, empty, get rid, discard, 删, 清理, 去掉, удали, 지워
    """,
    "sending": """
        email, mail, write, message, reply, answer, forward, post, invite, tell, schreiben, antworten,
        mailen, ecrire, repondre, escribir, responder, 发, 寄, 写信, 写邮件, 回复, 转发, 告诉, отправь,
        напиши, письмо, メール, 메일
    """,
    "paying": """
        order, book, reserve, get, subscribe, buchen, reservieren, reserver, reservar, pedir, 订, 买,
        预订, закажи, купи, 注文, 주문
    """,
    "transferring": """
        send money, pay, 转, 汇, переведи
    """,
    "ending": """
        cancel, end, stop, quit, close, abbestellen, annuler, cancelar, 取消, 注销, 关闭, switch off,
        off, leave, отмени, 停止, 취소
    """,
    "granting": """
        access, allow, public, publish, admin, password, export, share, 密码, 导出
    """,
}
"""More words by which people ask for the same."""
