"""A server with the official Python SDK, for `cargo xtask servers`: `peer.py stdio` or `peer.py http`.

Over HTTP it prints its port on stderr. It has a few features of each kind. Its results have the three forms that such servers
use: an object, a wrapped value, and a wrapped value that is marked as wrapped.
"""

import asyncio
import socket
import sys
from typing import Annotated

import uvicorn
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.resolve import Elicit, ListRoots, Resolve, Sample
from mcp_types import Completion, CreateMessageResult, ListRootsResult, SamplingMessage, TextContent, ToolAnnotations
from pydantic import BaseModel, ConfigDict

server = MCPServer("python-peer", version="1.0.0", instructions="For tests.", log_level="WARNING")

READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)


class City(BaseModel):
    name: str
    people: int


class Boxed(BaseModel):
    """What FastMCP publishes for a function that returns a list."""

    model_config = ConfigDict(json_schema_extra={"x-fastmcp-wrap-result": True})
    result: list[int]


@server.tool(annotations=READS)
def add(a: int, b: int) -> int:
    """Adds two numbers"""
    return a + b


@server.tool(annotations=READS)
def numbers(count: int) -> Boxed:
    """Counts"""
    return Boxed(result=list(range(count)))


@server.tool(annotations=READS)
def city(name: str) -> City:
    """Looks up a city"""
    return City(name=name, people=8)


@server.tool(annotations=ToolAnnotations(destructive_hint=True, idempotent_hint=True, open_world_hint=False))
def delete(name: str) -> str:
    """Declares that it deletes"""
    return f"{name} is gone"


@server.tool()
def mystery() -> str:
    """Declares nothing about its effect"""
    return "done"


@server.tool(annotations=READS)
def fails() -> str:
    """Fails"""
    raise ValueError("on purpose")


@server.tool(annotations=READS)
async def steps(ctx: Context, count: int) -> str:
    """Reports its progress"""
    for done in range(1, count + 1):
        await ctx.report_progress(done, count, f"step {done}")
    return f"{count} steps"


started = 0


@server.tool(annotations=READS)
async def forever(ctx: Context) -> str:
    """Starts, and does not end by itself"""
    global started
    started += 1
    try:
        await ctx.report_progress(1, 2, "begun")
        await asyncio.Event().wait()
    finally:
        started -= 1
    return "never"


@server.tool(annotations=READS)
def running() -> str:
    """Counts the calls that do not end"""
    return f"{started} are running"


class Person(BaseModel):
    name: str
    greeting: str = "Hello"


def person() -> Elicit[Person]:
    return Elicit("Who is there?", Person)


def opinion() -> Sample:
    question = SamplingMessage(role="user", content=TextContent(type="text", text="What do you think?"))
    return Sample([question], max_tokens=10)


def folders() -> ListRoots:
    return ListRoots()


@server.tool(annotations=READS)
def greet(person: Annotated[Person, Resolve(person)]) -> str:
    """Asks the user"""
    return f"{person.greeting}, {person.name}!"


@server.tool(annotations=READS)
def think(opinion: Annotated[CreateMessageResult, Resolve(opinion)]) -> str:
    """Asks the model"""
    return opinion.content.text


@server.tool(annotations=READS)
def where(folders: Annotated[ListRootsResult, Resolve(folders)]) -> str:
    """Asks for the folders"""
    return " ".join(str(root.uri) for root in folders.roots)


@server.resource("peer://note", mime_type="text/plain")
def note() -> str:
    """A text"""
    return "a note"


@server.resource("peer://bytes", mime_type="application/octet-stream")
def some_bytes() -> bytes:
    """Bytes"""
    return bytes([0, 255, 1])


@server.resource("peer://cities/{name}")
def city_text(name: str) -> str:
    """A text about a city"""
    return f"About {name}"


@server.prompt()
def ask_about(topic: str) -> str:
    """A question"""
    return f"What is {topic}?"


@server.completion()
async def complete(ref, argument, context):
    cities = [name for name in ["Aachen", "Athens", "Berlin"] if name.startswith(argument.value)]
    return Completion(values=cities, total=len(cities), has_more=False)


async def listen() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        config = uvicorn.Config(server.streamable_http_app(), log_level="warning")
        print(f"listening on http://127.0.0.1:{taken.getsockname()[1]}", file=sys.stderr, flush=True)
        await uvicorn.Server(config).serve(sockets=[taken])


if sys.argv[1:] == ["http"]:
    asyncio.run(listen())
else:
    server.run("stdio")
