"""Runs the stories of official clients with the Python package `mcp`.

    python client.py legacy|modern stdio|http PROGRAM|URL STORY [OPTION…]

The story's file holds the data. This file holds the checks that need code.
"""

import asyncio
import json
import sys
import time
import warnings
from contextlib import AsyncExitStack
from functools import reduce
from pathlib import Path

import anyio
import mcp_types as types
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.extension import advertise
from mcp.client.subscriptions import ResourceUpdated, ToolsListChanged
from pydantic import TypeAdapter

from checks import Mismatch, check, equal, holds
from judge import Judge

# The legacy era is deprecated, and this program tests it.
warnings.simplefilter("ignore")

# Several times as long as a step of the tool `wait`, so that a stray message has time to arrive.
A_WHILE = 0.3

WATCHED = "test://watched-resource"


def main():
    era, transport, place, file, *options = sys.argv[1:]
    with open(file, encoding="utf-8") as text:
        story = json.loads(text.read().replace("FOLDER", options[1] if options else "FOLDER"))
    asyncio.run(tell(story, era, transport, place, options))


async def tell(story, era, transport, place, options):
    host = Host(story)
    ear = Ear()
    program = StdioServerParameters(command=place, args=[*options, "--stdio"])
    server = place if transport == "http" else program
    extensions = story.get("extensions", {})
    connection = AsyncExitStack()

    with check("connects and learns who answers"):
        client = await connection.enter_async_context(
            Client(
                server,
                # `auto` must detect the modern era. The revision proves that it did.
                mode="auto" if era == "modern" else "legacy",
                client_info=types.Implementation(name="candor-interop", version="1.0.0"),
                elicitation_callback=host.person,
                sampling_callback=host.model,
                list_roots_callback=host.folders,
                message_handler=ear.hear,
                extensions=[advertise(name, settings) for name, settings in extensions.items()],
            )
        )
        expected = story["server"]
        who = {key: value for key, value in expected.items() if key not in ("instructions", "revision")}
        equal(wire(client.server_info), who)
        equal(client.instructions, expected.get("instructions"))
        equal(client.protocol_version, expected["revision"][era])
    for chapter in story["chapters"]:
        match chapter:
            case "judging":
                with check("finds that every schema is JSON Schema 2020-12"):
                    host.judge = Judge(wire(await client.list_tools())["tools"])
            case "checks":
                for step in story["checks"]:
                    with check(step["what"]):
                        await follow(step, client, host, era)
            case "taking back":
                await cancel(client, ear)
            case "listening":
                await listen(client, ear, era)
            case "watching":
                await watch(client, ear, era, Path(options[1]))
            case _:
                sys.exit(f"there is no chapter {chapter!r}")
    with check("hangs up, and the server lets it go"):
        start = time.monotonic()
        await connection.aclose()
        # The SDK gives a server two seconds to end before it sends a signal.
        holds(time.monotonic() - start < 1.5, "the server did not end when its input did")


async def follow(step, client, host, era):
    """Runs one check of the story."""
    host.asked = []
    progress = []

    async def note(*said):
        progress.append(present(zip(("progress", "total", "message"), said)))

    watched = "progress" in step or "firstProgress" in step or "stream" in step
    answer = ask(step, client, note if watched else None)
    if "fails" in step:
        try:
            await answer
        except MCPError as error:
            equal(error.code, step["fails"]["code"][era])
            equal(error.message, step["fails"]["message"])
            return
        raise Mismatch("it did not fail")
    result = await answer
    equal(result, refusal(step) if "refuses" in step else step["gives"])
    if host.judge and "call" in step:
        host.judge.hear(step, result)
    if "progress" in step:
        equal(progress, step["progress"])
    if "firstProgress" in step:
        equal(progress[0], step["firstProgress"])
    if "asks" in step:
        equal(host.asked, step["asks"])


async def ask(step, client, note):
    """Sends the request of the step. Returns the part of the result that the check compares."""
    match step:
        case {"list": kind}:
            lists = {
                "tools": client.list_tools,
                "resources": client.list_resources,
                "resourceTemplates": client.list_resource_templates,
                "prompts": client.list_prompts,
            }
            items = wire(await lists[kind]())[kind]
            if "each" in step:
                return [item[step["each"]] for item in items]
            if kind == "resources":
                return expected_members(items, step["gives"])
            if "named" in step:
                return next(item for item in items if item["name"] == step["named"])
            return items
        case {"call": name}:
            result = await client.call_tool(name, step.get("arguments"), progress_callback=note)
            return some(wire(result), "content", "structuredContent", "isError")
        case {"read": uri}:
            contents = wire(await client.read_resource(uri))["contents"]
            return {"contents": expected_members(contents, step["gives"]["contents"])}
        case {"prompt": name}:
            return some(wire(await client.get_prompt(name, step.get("arguments"))), "messages")
        case {"complete": {"type": "ref/prompt", "name": name}, "argument": argument}:
            result = await client.complete(types.PromptReference(name=name), argument)
            return some(wire(result), "completion")
        case {"complete": {"type": "ref/resource", "uri": uri}, "argument": argument}:
            result = await client.complete(types.ResourceTemplateReference(uri=uri), argument)
            return some(wire(result), "completion")
        case {"request": method, "params": params}:
            kind = AnythingNamed if "name" in params else Anything
            result = await client.session.send_request(kind(method=method, params=params), ANYTHING)
            members = reduce(lambda value, name: value[name], step.get("within", []), result)
            # The other members belong to the era: whether a result is complete, how long it is valid, which server returned it.
            return some(members, *step["gives"])
        case _:
            raise Mismatch("the check asks for nothing")


def expected_members(items, expected):
    """Keeps the expected members: resources have members beyond the published protocol, and each SDK drops other ones."""
    return [some(item, *expected[i]) if i < len(expected) else item for i, item in enumerate(items)]


class Anything(types.Request[dict, str]):
    """A request that the SDK does not know."""


class AnythingNamed(Anything):
    """A request that the SDK does not know, with a `name` in its parameters."""

    name_param = "name"


# A result that the SDK does not know.
ANYTHING = TypeAdapter(dict)


def refusal(step):
    """Returns the result of a call with invalid arguments: every problem with its place."""
    problems = "; ".join(f"{place}: {problem}" for place, problem in step["refuses"].items())
    text = f"Invalid arguments for {step['call']}: {problems}"
    return {"content": [{"type": "text", "text": text}], "isError": True}


async def cancel(client, ear):
    with check("takes a call back"):
        with anyio.CancelScope() as scope:

            async def change_my_mind(*_):
                scope.cancel()

            await client.call_tool("wait", {"steps": 600}, progress_callback=change_my_mind)
        holds(scope.cancelled_caught, "the call ran to its end")
    with check("goes on after a call was taken back"):
        await text(client, "wait", "Waited 1 steps.", {"steps": 1})
    with check("hears no more of a call that was taken back"):
        # Earlier messages have arrived by now.
        ear.progress.clear()
        await asyncio.sleep(A_WHILE)
        equal(ear.progress, [])


async def listen(client, ear, era):
    async def tool_names():
        return [tool.name for tool in (await client.list_tools()).tools]

    subscription = AsyncExitStack()
    with check("listens for changes"):
        if era == "modern":
            events = await subscription.enter_async_context(
                client.listen(tools_list_changed=True, resource_subscriptions=[WATCHED])
            )
        else:
            events = ear
            await client.subscribe_resource(WATCHED)
            subscription.push_async_callback(client.unsubscribe_resource, WATCHED)
    with check("hears that there is a new tool, and calls it"):
        holds("test_extra" not in await tool_names(), "the tool is there already")
        await text(client, "test_trigger_tool_change", "The list of tools has changed.")
        equal(await anext(events), ToolsListChanged())
        holds("test_extra" in await tool_names(), "the tool is not there")
        await text(client, "test_extra", "Here I am.")
    with check("hears that the tool is gone"):
        await text(client, "test_trigger_tool_change", "The list of tools has changed.")
        equal(await anext(events), ToolsListChanged())
        holds("test_extra" not in await tool_names(), "the tool is still there")
    with check("hears that a resource has changed"):
        await text(client, "test_touch_resource", "The watched resource has changed.")
        equal(await anext(events), ResourceUpdated(WATCHED))
    with check("hears nothing after it has stopped listening"):
        await subscription.aclose()
        # The SDK does not wait until the server has processed this.
        await asyncio.sleep(A_WHILE)
        # In the modern era, the SDK also passes the subscription's changes to the ear.
        ear.forget()
        await text(client, "test_touch_resource", "The watched resource has changed.")
        await asyncio.sleep(A_WHILE)
        holds(ear.silent(), "it still heard of the resource")


async def watch(client, ear, era, folder):
    file, uri = folder / "watched.txt", "file:///watched.txt"
    file.write_text("one")
    subscription = AsyncExitStack()
    with check("listens for changes of a file"):
        if era == "modern":
            events = await subscription.enter_async_context(client.listen(resource_subscriptions=[uri]))
        else:
            events = ear
            await client.subscribe_resource(uri)
            subscription.push_async_callback(client.unsubscribe_resource, uri)
    with check("hears that the file has changed, and reads it anew"):
        file.write_text("two")
        equal(await anext(events), ResourceUpdated(uri))
        equal(wire(await client.read_resource(uri))["contents"][0]["text"], "two")
    with check("hears that another file has taken its place"):
        # The previous change may cause two notifications.
        await asyncio.sleep(A_WHILE)
        (folder / "watched.txt.new").write_text("three")
        (folder / "watched.txt.new").rename(file)
        equal(await anext(events), ResourceUpdated(uri))
    with check("stops listening"):
        await subscription.aclose()
        file.unlink()


async def text(client, tool, expected, arguments=None):
    result = await client.call_tool(tool, arguments)
    equal(wire(result)["content"], [{"type": "text", "text": expected}])


class Host:
    """The host of a client: a user, a model and folders, which answer as the story says. If the story has a
    validator of schemas, that too."""

    def __init__(self, story):
        self.story = story
        self.asked = []
        self.judge = None

    async def person(self, _context, params):
        self.asked.append({"message": params.message, "requestedSchema": params.requested_schema})
        return types.ElicitResult(**self.story["person"][params.message])

    async def model(self, _context, params):
        [message] = params.messages
        answer = types.TextContent(text=self.story["model"][message.content.text])
        return types.CreateMessageResult(role="assistant", model="story", content=answer)

    async def folders(self, _context):
        return types.ListRootsResult(roots=[types.Root(**folder) for folder in self.story["folders"]])


class Ear:
    """Receives the server's notifications, in order."""

    def __init__(self):
        self.changes = asyncio.Queue()
        self.progress = []

    async def hear(self, message):
        match message:
            case types.ProgressNotification():
                self.progress.append(wire(message))
            case types.ToolListChangedNotification():
                self.changes.put_nowait(ToolsListChanged())
            case types.ResourceUpdatedNotification():
                self.changes.put_nowait(ResourceUpdated(message.params.uri))

    async def __anext__(self):
        return await self.changes.get()

    def forget(self):
        self.changes = asyncio.Queue()

    def silent(self):
        return self.changes.empty()


def wire(model):
    """Returns the value as it was on the wire, without the SDK's defaults."""
    return model.model_dump(by_alias=True, mode="json", exclude_unset=True)


def some(document, *keys):
    return {key: document[key] for key in keys if key in document}


def present(pairs):
    return {key: value for key, value in pairs if value is not None}


if __name__ == "__main__":
    main()
