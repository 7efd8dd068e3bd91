"""Which control of Django's old admin is which of the new one: known by form field, link target or button name.

The truth that locating is measured against; no selector here depends on where a control stands, and each matches
exactly one element of its page (a test opens all of them).
"""

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Pair:
    """One control of one page, in both versions."""

    path: str
    """Of the page, as both versions have it; all but the log-in page ask for a session."""
    name: str
    """What a person would call it."""
    old: str
    """CSS selector in the old version."""
    new: str
    """CSS selector in the new version."""


LOG_IN_PAGE = "/admin/login/?next=/admin/"
"""The first page of `PAIRS`, and the only one that is there without a session."""

_Selector = str | tuple[str, str]
"""One for both versions, or one for each."""

_SITE: dict[str, _Selector] = {
    "home in the title": "#site-name a",
    "view site": "#user-tools a[href='/']",
    "change my password": "#user-tools a[href='/admin/password_change/']",
    "log out": ("#user-tools a[href='/admin/logout/']", "#logout-form button"),
}
"""Controls that every page has beside its own."""

_SAVE: dict[str, _Selector] = {
    "save": "[name=_save]",
    "save and add another": "[name=_addanother]",
    "save and continue": "[name=_continue]",
}

_LIST: dict[str, _Selector] = {
    "search field": "#searchbar",
    "search button": "#changelist-search input[type=submit]",
    "action": "select[name=action]",
    "run the action": "button[name=index]",
    "all rows": "#action-toggle",
}


def _crumbs(*paths: str) -> dict[str, _Selector]:
    return {f"breadcrumb {path}": f".breadcrumbs a[href='{path}']" for path in paths}


def _chooser(field: str) -> dict[str, _Selector]:
    """The two lists between which options are moved; their links became buttons."""
    moves = ("add_all", "add", "remove", "remove_all")
    return {
        f"{field}: filter of the available": f"#id_{field}_input",
        f"{field}: available": f"#id_{field}_from",
        f"{field}: chosen": f"#id_{field}_to",
        **{f"{field}: {move}": (f"#id_{field}_{move}_link", f"#id_{field}_{move}") for move in moves},
    }


def _rows(kind: str, ids: tuple[int, ...]) -> Iterator[tuple[str, _Selector]]:
    for row in ids:
        yield f"{kind} {row}", f"#result_list a[href='/admin/auth/{kind}/{row}/change/']"
        yield f"select {kind} {row}", f"#result_list input[name=_selected_action][value='{row}']"


_PAGES: dict[str, dict[str, _Selector]] = {
    LOG_IN_PAGE: {
        "home in the title": "#site-name a",
        "user name": "#login-form [name=username]",
        "password": "#login-form [name=password]",
        "log in": "#login-form input[type=submit]",
    },
    "/admin/": {
        **_SITE,
        "the application": "#content-main a[href='/admin/auth/']",
        "groups": ".model-group th a",
        "add a group": ".model-group a.addlink",
        "change groups": ".model-group a.changelink",
        "users": ".model-user th a",
        "add a user": ".model-user a.addlink",
        "change users": ".model-user a.changelink",
        **{f"recent: user {row}": f".actionlist a[href='/admin/auth/user/{row}/change/']" for row in (13, 9, 4)},
    },
    "/admin/auth/user/": {
        **_SITE,
        **_crumbs("/admin/", "/admin/auth/"),
        "add a user": "#content-main a.addlink",
        **_LIST,
        **dict(_rows("user", (1, 2, 3, 8, 13))),
        **{
            f"{field}: {value}": f"#changelist-filter a[href='?{field}__exact={value}']"
            for field in ("is_staff", "is_superuser", "is_active")
            for value in (0, 1)
        },
        **{f"group {group}": f"#changelist-filter a[href='?groups__id__exact={group}']" for group in (1, 2, 3)},
        "sort by e-mail": "#result_list .column-email .text a",
        "sort by first name": "#result_list .column-first_name .text a",
        "sort by last name": "#result_list .column-last_name .text a",
        "sort by staff status": "#result_list .column-is_staff .text a",
    },
    "/admin/auth/user/add/": {
        **_crumbs("/admin/", "/admin/auth/", "/admin/auth/user/"),
        "user name": "#id_username",
        "password": "#id_password1",
        "password again": "#id_password2",
        **_SAVE,
    },
    "/admin/auth/user/3/change/": {
        **_crumbs("/admin/", "/admin/auth/", "/admin/auth/user/"),
        "history": ".historylink",
        **{
            field: f"#id_{field}"
            for field in ("username", "first_name", "last_name", "email", "is_active", "is_staff", "is_superuser")
        },
        "change the password": "a[href='../password/']",
        "add a group": "#add_id_groups",
        **_chooser("groups"),
        **_chooser("user_permissions"),
        "last login: date": "#id_last_login_0",
        "last login: calendar": "#calendarlink0",
        "last login: time": "#id_last_login_1",
        "last login: clock": "#clocklink0",
        "date joined: date": "#id_date_joined_0",
        "date joined: calendar": "#calendarlink1",
        "date joined: time": "#id_date_joined_1",
        "date joined: clock": "#clocklink1",
        **_SAVE,
        "delete": ".deletelink",
    },
    "/admin/auth/group/": {
        **_crumbs("/admin/", "/admin/auth/"),
        "add a group": "#content-main a.addlink",
        **_LIST,
        **dict(_rows("group", (1, 2, 3))),
    },
    "/admin/auth/group/1/change/": {
        **_crumbs("/admin/", "/admin/auth/", "/admin/auth/group/"),
        "history": ".historylink",
        "name": "#id_name",
        **_chooser("permissions"),
        **_SAVE,
        "delete": ".deletelink",
    },
    "/admin/auth/user/3/history/": {
        **_SITE,
        **_crumbs("/admin/", "/admin/auth/", "/admin/auth/user/", "/admin/auth/user/3/change/"),
    },
    "/admin/auth/user/3/delete/": {
        **_crumbs("/admin/", "/admin/auth/", "/admin/auth/user/", "/admin/auth/user/3/change/"),
        "the user": "#content ul a[href='/admin/auth/user/3/change/']",
        "yes": "#content form input[type=submit]",
        "no": ".cancel-link",
    },
    "/admin/auth/user/3/password/": {
        "password": "#id_password1",
        "password again": "#id_password2",
    },
    "/admin/password_change/": {
        "old password": "#id_old_password",
        "new password": "#id_new_password1",
        "new password again": "#id_new_password2",
        "change it": "#content form input[type=submit]",
    },
}

PAIRS = tuple(
    Pair(path, name, *((selector, selector) if isinstance(selector, str) else selector))
    for path, controls in _PAGES.items()
    for name, selector in controls.items()
)
"""By page; user 3 is alan.turing, group 1 is Editors (`bench.django_site.names`)."""
