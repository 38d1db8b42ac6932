"""The functions that the tests of mcp-embedded-ui import, implemented with a Candor server.

Each server is a separate process (`crates/candor-console/examples/explorer`) that gets its requests over HTTP. Line by line, it asks
the test for the tools, for the result of a call, and whether to accept a caller: these are functions of the test.
"""

import asyncio
import inspect
import json
import os
import subprocess
import threading
from contextlib import AbstractAsyncContextManager

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route

_running = []

METHODS = ["GET", "HEAD", "POST", "DELETE", "OPTIONS"]

# Headers of one connection. The other connection has its own.
OWN = {"host", "connection", "content-length", "transfer-encoding", "accept-encoding"}


def plain(value):
    """Returns a tool, or a part of one, by the serialization rules of the document."""
    for method in ("model_dump", "dict"):
        if hasattr(value, method):
            return getattr(value, method)(exclude_none=True)
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    return value


def definition(tool):
    members = {name: plain(getattr(tool, name, None)) for name in ("name", "description", "inputSchema", "annotations")}
    return {name: value for name, value in members.items() if value is not None}


async def resolved(value):
    return await value if inspect.isawaitable(value) else value


class Candor:
    """A server, and the functions of the test that it uses."""

    def __init__(self, tools, handle_call, auth_hook, options):
        self.tools, self.handle_call, self.auth_hook = tools, handle_call, auth_hook
        options = json.dumps(options | {"authenticates": auth_hook is not None})
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        self.process = subprocess.Popen([os.environ["CANDOR_EXPLORER"], options], text=True, **pipes)
        self.origin, self.token = self.process.stderr.readline().split()
        threading.Thread(target=self.process.stderr.read, daemon=True).start()
        threading.Thread(target=self.answer_all, daemon=True).start()
        _running.append(self)

    def answer_all(self):
        for line in self.process.stdout:
            question = json.loads(line)
            try:
                said = {"answer": asyncio.run(self.answer(question))}
            except Exception as error:
                said = {"failure": str(error)}
            self.process.stdin.write(json.dumps({"id": question["id"], **said}) + "\n")
            self.process.stdin.flush()

    async def answer(self, question):
        match question["ask"]:
            case "tools":
                tools = self.tools if isinstance(self.tools, list) else await resolved(self.tools())
                return [definition(tool) for tool in tools]
            case "call":
                content, is_error, trace_id = await self.handle_call(question["name"], question["arguments"])
                meta = {"_meta": {"_trace_id": trace_id}} if trace_id else {}
                return {"content": content, "isError": is_error, **meta}
            case "admit":
                headers = [(name.encode(), value.encode()) for name, value in question["headers"].items()]
                manager = self.auth_hook(Request({"type": "http", "headers": headers}))
                if isinstance(manager, AbstractAsyncContextManager):
                    async with manager:
                        return True
                with manager:
                    return True

    async def forward(self, request):
        headers = {name: value for name, value in request.headers.items() if name not in OWN}
        # Without an authenticator, only the user who opened the printed link may call tools.
        if self.auth_hook is None and request.method == "POST":
            headers.setdefault("authorization", f"Bearer {self.token}")
        async with httpx.AsyncClient() as client:
            url = self.origin + request.url.path
            said = await client.request(request.method, url, content=await request.body(), headers=headers)
        kept = {name: value for name, value in said.headers.items() if name not in OWN}
        return Response(said.content, said.status_code, kept)

    def close(self):
        self.process.kill()
        self.process.wait()


def close_all():
    while _running:
        _running.pop().close()


def build_ui_routes(
    tools,
    handle_call,
    *,
    allow_execute=False,
    auth_hook=None,
    title="MCP Tool Explorer",
    prefix="/",
    project_name=None,
    project_url=None,
):
    options = {"allow_execute": allow_execute, "title": title, "prefix": prefix}
    options |= {"project_name": project_name, "project_url": project_url}
    server = Candor(tools, handle_call, auth_hook, options)
    return [Route("/{path:path}", server.forward, methods=METHODS)]


def create_app(tools, handle_call, **options):
    return Starlette(routes=build_ui_routes(tools, handle_call, **options))


def create_mount(prefix="/explorer", *, tools, handle_call, **options):
    return Mount(prefix, routes=build_ui_routes(tools, handle_call, prefix=prefix, **options))
