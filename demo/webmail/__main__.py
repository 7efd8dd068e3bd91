"""``python -m demo.webmail --port 8025 --store DIR [--skin modern] [--latency-ms 200]``."""

import argparse
import os
from pathlib import Path

from demo.serving import serve
from demo.webmail.app import create_app
from demo.webmail.skins import SKINS, skin_from
from demo.webmail.store import MailStore

DEFAULT_PASSWORD = "correct horse battery staple"  # noqa: S105  a demo account on loopback, told to everybody


def main() -> None:
    """Serve the webmail until Ctrl-C; user ``demo``, password from WEBMAIL_PASSWORD."""
    parser = argparse.ArgumentParser(prog="python -m demo.webmail", description=main.__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8025, help="0 takes a free port")
    parser.add_argument("--store", type=Path, required=True, help="directory for sent.jsonl and the rest")
    parser.add_argument("--skin", help=f"one of {', '.join(SKINS)}, with @BUILD for other generated names")
    parser.add_argument("--latency-ms", type=int, default=0, help="added to every page and form")
    arguments = parser.parse_args()

    store = MailStore(arguments.store)
    if arguments.skin is not None:
        try:
            store.skin = str(skin_from(arguments.skin))
        except ValueError as error:
            parser.error(str(error))
    app = create_app(
        store,
        password=os.environ.get("WEBMAIL_PASSWORD", DEFAULT_PASSWORD),
        latency_ms=arguments.latency_ms,
    )
    serve(app, arguments.host, arguments.port)


if __name__ == "__main__":
    main()
