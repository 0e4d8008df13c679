"""The baseline: aiohttp's low-level server on uvloop over TLS, doing nothing but the bytes.

    python -m tests.bench.bare '{"port": 0, "cert": "…", "key": "…", "body_file": "…"}'

GET answers the file's bytes as JSON; POST reads the body and answers the same bytes with 201. Prints its port.
"""

from __future__ import annotations

import asyncio
import json
import ssl
import sys
from pathlib import Path

import uvloop
from aiohttp import web

__all__ = ["serve"]


async def serve(port: int, cert: str, key: str, body_file: str) -> None:
    body = Path(body_file).read_bytes()  # noqa: ASYNC240  # before serving

    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        if request.method == "POST":
            sent = await request.read()
            return web.Response(status=201, body=sent, content_type="application/json")
        return web.Response(body=body, content_type="application/json")

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    context.set_alpn_protocols(["http/1.1"])
    server = web.Server(handler, handler_cancellation=True)
    listener = await asyncio.get_running_loop().create_server(server, "127.0.0.1", port, ssl=context)
    print(json.dumps({"port": listener.sockets[0].getsockname()[1]}), flush=True)
    await listener.serve_forever()


def main() -> None:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve(**json.loads(sys.argv[1])))


if __name__ == "__main__":
    main()
