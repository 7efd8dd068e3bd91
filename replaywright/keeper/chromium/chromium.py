"""Chromium's command line."""

from pathlib import Path

from replaywright.keeper.protocol import KeeperOptions

DISABLED_FEATURES = (
    "AcceptCHFrame",
    "AutofillServerCommunication",
    "AutofillEnableAccountWalletStorage",
    "CalculateNativeWinOcclusion",
    "CertificateTransparencyComponentUpdater",
    "DestroyProfileOnBrowserClose",
    "DialMediaRouteProvider",
    "GlobalMediaControls",
    "HttpsUpgrades",
    "ImprovedCookieControls",
    "InterestFeedContentSuggestions",
    "LensOverlay",
    "MediaRouter",
    "NetworkTimeServiceQuerying",
    "OptimizationGuideModelDownloading",
    "OptimizationHints",
    "OptimizationTargetPrediction",
    "PaintHolding",
    "PasswordLeakDetection",
    "PasswordManagerOnboarding",
    "PrivacySandboxSettings4",
    "SegmentationPlatform",
    "Translate",
    "TranslateUI",
    "WebUIOmniboxAimPopup",
    "WebUIOmniboxPopup",
)
"""`HttpsUpgrades` among them: it would turn a recorded http:// step into https:// behind our back. The popups
of the address bar are pages of their own that are loaded beside the first one, though nobody sees them: 0.9 s of
processor time and 50 MiB for each browser, of 1.4 s and 220 MiB (Chromium 156)."""

QUIET = (
    "--no-first-run",
    "--no-default-browser-check",
    "--no-service-autorun",
    "--no-pings",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-component-extensions-with-background-pages",
    "--disable-extensions",
    "--disable-default-apps",
    "--disable-sync",
    "--disable-breakpad",
    "--disable-crash-reporter",
    "--disable-domain-reliability",
    "--disable-client-side-phishing-detection",
    "--disable-field-trial-config",
    "--disable-search-engine-choice-screen",
    "--disable-infobars",
    "--disable-popup-blocking",
    "--disable-prompt-on-repost",
    "--disable-save-password-bubble",
    "--disable-single-click-autofill",
    "--disable-autofill-keyboard-accessory-view",
    "--disable-hang-monitor",
    "--safebrowsing-disable-auto-update",
    "--metrics-recording-only",
    "--use-mock-keychain",
    "--password-store=basic",
    "--mute-audio",
    "--gaia-url=http://127.0.0.1:9",
    "--component-updater=url-source=http://127.0.0.1:9",
)
"""Nothing that the page did not ask for: no traffic in the background, no bubbles over the page, no helpers."""

STEADY = (
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
    "--disable-ipc-flooding-protection",
    "--disable-back-forward-cache",
    "--force-color-profile=srgb",
    "--allow-pre-commit-input",
)
"""A page behaves the same whether its window is in front or not."""

ONLY_THROUGH_THE_PROXY = (
    "--proxy-bypass-list=<-loopback>",
    "--disable-quic",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--dns-prefetch-disable",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
)
"""Measured by `make leaks`: with these and a proxy, no channel of a page goes round it. The last one leaves Chromium
without a name server: names are resolved by the proxy, once."""


def command_line(options: KeeperOptions, *, profile: Path, proxy_port: int, trusted: str = "") -> list[str]:
    """Return the arguments that start Chromium with one empty page and no way out but the proxy.

    `trusted` is the fingerprint of the gate's own key, where it shows certificates for the browser. It speaks DevTools
    over inherited descriptors only (`replaywright.keeper.chromium.pipe`): every local user can use a
    port.
    """
    return [
        options.executable,
        f"--user-data-dir={profile}",
        "--remote-debugging-pipe",
        f"--proxy-server=http://127.0.0.1:{proxy_port}",
        *ONLY_THROUGH_THE_PROXY,
        *QUIET,
        *STEADY,
        f"--disable-features={','.join(DISABLED_FEATURES)}",
        f"--lang={options.lang}",
        f"--accept-lang={options.lang}",
        f"--window-size={options.window_width},{options.window_height}",
        *(("--headless=new", "--hide-scrollbars") if options.headless else ()),
        *(("--no-sandbox",) if options.no_sandbox else ()),
        *((f"--ignore-certificate-errors-spki-list={trusted}",) if trusted else ()),
        *options.extra_arguments,
        "about:blank",
    ]
