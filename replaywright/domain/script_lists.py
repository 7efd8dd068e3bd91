"""Chinese signs that are written in more than one way, and the one that the lists of words use."""

TRADITIONAL = """
來係個們備傳價優儲內兩凍別刪劵動務勞匯員問啟單嗎圖團報場夾審寫將專尋對導帐帳幣幫張後從復應戶換時暫書會條標樣機檔檢檯歐歸沒測為無煩現環產發簡簽籤約級終組結絕絡給網線編總織繫聯臺與萬處號裏裡見視訂訊記訪設註評詢試話該誤說誰請論謝議讀變讓貓負貨責買費貼賓賣賬購車載輯輸轉這連週進過遞還郵銀錄錢錯鎖閉開間閱關隊隻雙電頁項預頻題額類顧飛飯館駁駕體點
"""
"""Traditional forms and common mistakes: 帐 for 账, 劵 for 券."""

SIMPLIFIED = """
来系个们备传价优储内两冻别删券动务劳汇员问启单吗图团报场夹审写将专寻对导账账币帮张后从复应户换时暂书会条标样机档检台欧归没测为无烦现环产发简签签约级终组结绝络给网线编总织系联台与万处号里里见视订讯记访设注评询试话该误说谁请论谢议读变让猫负货责买费贴宾卖账购车载辑输转这连周进过递还邮银录钱错锁闭开间阅关队只双电页项预频题额类顾飞饭馆驳驾体点
"""
"""What stands for each of them, in the same order."""
