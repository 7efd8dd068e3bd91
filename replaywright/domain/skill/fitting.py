"""Fit of a skill: does the start page match the one of the skill's first step, in the same context?"""

from typing import Final, Literal, TypeAlias
from urllib.parse import urlsplit

from replaywright.domain.common.base import Record
from replaywright.domain.common.text import normalise
from replaywright.domain.page.snapshots import Element, Snapshot
from replaywright.domain.predicate.predicates import Predicate
from replaywright.domain.proof.signed_out import asks_for_password
from replaywright.domain.session.sessions import OnSession
from replaywright.domain.skill.skills import SkillContext, SkillRef
from replaywright.domain.task.tasks import Task

PRECONDITION: Final = "precondition"
"""Reason of a recalled skill that was not begun because the start page lacks its precondition."""
OTHER_CONTEXT: Final = "other_context"
"""Reason of a recalled skill that was learned in another context."""
FIT_MS = 5_000
"""Time for a start page to show the precondition of a skill."""

Unfit: TypeAlias = Literal["", "precondition", "other_context"]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split("|"))


_SIGN_OUT = _words(
    "sign out|signout|log out|logout|log off|logoff|abmelden|ausloggen|se déconnecter|déconnexion|cerrar sesión|salir"
    "|esci|disconnetti|sair|terminar sessão|uitloggen|afmelden|wyloguj|wyloguj się|выйти|выход|çıkış yap|退出|退出登录"
    "|退出登陆|登出|注销|ログアウト|サインアウト|로그아웃"
)
_SIGN_IN = _words(
    "sign in|signin|log in|login|log on|logon|anmelden|einloggen|se connecter|connexion|iniciar sesión|acceder|accedi"
    "|entrar|iniciar sessão|inloggen|aanmelden|zaloguj|zaloguj się|войти|вход|giriş yap|登录|登陆|登入|ログイン"
    "|サインイン|로그인"
)
_CONTROLS = frozenset({"button", "link", "menuitem"})


class FitRequest(OnSession):
    """Input of `session.fits`."""

    precondition: tuple[Predicate, ...] = ()
    start: str = ""
    """Address of the skill's start page when it was learned, with values; see `SkillContext.start`."""
    signed_in: bool | None = None
    """True if the skill was learned signed in."""


class Fit(Record):
    """Output of `session.fits`."""

    reason: Unfit = ""
    """Empty if the page fits."""
    message: str = ""
    own_page: bool = False
    """True if it is the skill's own start page nevertheless: the site has changed."""
    signed_in: bool | None = None
    """None if unknown or not needed."""
    snapshot: str = ""
    """Digest, in the artifact store, of a page that does not fit."""


class PassedOver(SkillRef):
    """A recalled skill that a run did not begin."""

    reason: Unfit
    said: str = ""
    """Message for people."""


class RecalledFor(Record):
    """Start of a recalled skill, and the run's task before, in case it does not fit."""

    precondition: tuple[Predicate, ...] = ()
    context: SkillContext = SkillContext()
    task: Task
    """The requested task, without steps."""
    values: dict[str, str]
    passed_over: tuple[PassedOver, ...] = ()
    """Skills recalled before this one that did not fit."""


def signed_in_of(snapshot: Snapshot) -> bool | None:
    """Return True if the page shows that the browser is signed in; None if it shows neither.

    A control to sign out means yes; one to sign in or a password field means no; both together decide nothing.
    """
    shown = [element for element in snapshot.elements if element.visible and element.actionable]
    says_out = any(_is_control(element, _SIGN_OUT) for element in shown)
    says_in = any(_is_control(element, _SIGN_IN) for element in shown)
    if says_out:
        return None if says_in else True
    return False if says_in or asks_for_password(snapshot) else None


def _is_control(element: Element, words: frozenset[str]) -> bool:
    target = element.target
    return target.role in _CONTROLS and normalise(target.name or target.text) in words


def place_of(url: str) -> str:
    """Return origin and path of a URL, by which start pages are compared."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path or '/'}" if parts.netloc else ""
