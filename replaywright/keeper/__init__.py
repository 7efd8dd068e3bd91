"""The session keeper: one small process per session, parent of one Chromium, outliving the worker that started it.

It is the browser's only way out (`proxy`), holds the commit gate (`gate`) and the black box (`black_box`), hands out
CDP connections that it can take away again (`relay`), and answers on a unix domain socket (`protocol`, `client`).
It imports neither Playwright nor a model nor Redis, so that it starts fast and has little to die of.
Built for Linux: `PR_SET_PDEATHSIG` ties Chromium's life to the keeper's.
"""
