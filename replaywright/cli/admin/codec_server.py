"""`replaywright admin codec-server`: the Temporal UI shows clear text to those who may read it."""

import logging
from typing import Annotated
from urllib.parse import urljoin

import typer
import uvicorn

from replaywright.cli import output
from replaywright.cli.app import admin
from replaywright.domain.secrets.secret_sites import is_loopback
from replaywright.errors import InputInvalid, SettingsInvalid
from replaywright.keeper.host.own_processes import entered
from replaywright.sealing.codec_server import CodecServer, check_origin
from replaywright.settings import load_settings
from replaywright.stack import read_running
from replaywright.stack.keyring import codec_keys_of
from replaywright.stack.starting import wait_for_start


@admin.command("codec-server")
def codec_server(
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port to listen on.")] = 8081,
    host: Annotated[str, typer.Option(help="Another address than loopback needs a token.")] = "127.0.0.1",
    ui: Annotated[
        list[str] | None,
        typer.Option(metavar="ORIGIN", help="Origin of the Temporal UI that may ask; repeatable."),
    ] = None,
) -> None:
    """Decrypt payloads for the pages of the Temporal UI.

    Needs REPLAYWRIGHT_CODEC_KEYS. With REPLAYWRIGHT_CODEC_TOKEN, it requires this bearer token; beyond loopback the
    token is mandatory (put TLS in front of it there). Enter the server's address in the UI, at the glasses at the top.

    Example: `replaywright admin codec-server --ui http://127.0.0.1:8233`
    """
    settings = load_settings()
    keys = codec_keys_of(settings)
    if not keys:
        raise SettingsInvalid(
            "REPLAYWRIGHT_CODEC_KEYS is not set: payloads are clear text, there is nothing to decrypt"
        )
    wait_for_start(settings.home, output.print_progress)
    running = read_running(settings.home)
    known = settings.temporal_ui_url or (running.temporal_ui_url if running else None)
    origins = [check_origin(one) for one in ui or ([urljoin(known, "/")] if known else [])]
    if not origins:
        raise InputInvalid("which Temporal UI may ask? give its origin, such as --ui http://127.0.0.1:8233")
    token = settings.codec_token or ""
    if not token and not is_loopback(host):
        raise InputInvalid(f"--host {host}: beyond loopback a token is needed: set REPLAYWRIGHT_CODEC_TOKEN")
    # A page may let a name of its own point to this machine.
    hosts = None if token else [f"{name}:{port}" for name in (host, "localhost", "127.0.0.1", "[::1]")]
    logging.basicConfig(level="INFO", format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    output.print_line(f"codec server for {', '.join(origins)}: http://{host}:{port}", style="green")
    with entered(settings.home):
        uvicorn.run(
            CodecServer(keys, origins=origins, hosts=hosts, token=token).app(),
            host=host,
            port=port,
            log_level="warning",
            access_log=False,
            server_header=False,
        )
