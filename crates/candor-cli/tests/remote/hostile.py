"""MCP servers of the legacy era that send too much, or too little, for the tests of the command line. The first word says which."""

import json
import sys

PAGE = 15_000_000


def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def tool(name, **more):
    return {"name": name, "inputSchema": {"type": "object"}, **more}


def page(at, member, entries, last=None):
    more = {} if at == last else {"nextCursor": str(at + 1)}
    return {member: entries, **more}


def answer(kind, method, params):
    at = int(params.get("cursor", 0))
    if method == "initialize":
        return {
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}, "resources": {"subscribe": True}},
            "serverInfo": {"name": "hostile", "version": "1"},
        }
    if method == "tools/list" and kind == "long":
        # Sixty megabytes of tools like those of others.
        properties = {f"p{n}": {"type": "string", "description": "what it is for", "enum": ["a", "b"]} for n in range(20)}
        schema = {"type": "object", "properties": properties}
        one = {"name": "t", "description": "what it does", "inputSchema": schema}
        many = PAGE // len(json.dumps(one))
        return page(at, "tools", [{**one, "name": f"t{at}-{n}"} for n in range(many)], last=3)
    if method == "tools/list" and kind == "dense":
        # Every two bytes are a value.
        return page(at, "tools", [tool("t", inputSchema={"type": "object", "enum": [1] * (PAGE // 3)})], last=0)
    if method == "resources/templates/list":
        return {"resourceTemplates": []}
    if method == "resources/list" and kind == "wide":
        return page(at, "resources", [{"uri": f"doc://{at}", "name": "n", "description": "x" * PAGE}])
    if method in ("resources/subscribe", "ping"):
        return {}
    return None


def update():
    """Tells of other resources, each a megabyte long, until the pipe closes."""
    at = 0
    while True:
        at += 1
        if at == 20:
            mark("flood")
        if at == 700:
            mark("many")
        uri = f"doc://a/{at}/" + "x" * 1_000_000
        send({"method": "notifications/resources/updated", "params": {"uri": uri}})


def mark(name):
    with open(name, "a") as file:
        file.write("1\n")


kind = sys.argv[1]
mark("starts")
for line in sys.stdin:
    message = json.loads(line)
    if "method" not in message or "id" not in message:
        continue
    result = answer(kind, message["method"], message.get("params", {}))
    if result is None:
        send({"id": message["id"], "error": {"code": -32601, "message": "Method not found"}})
    else:
        send({"id": message["id"], "result": result})
    if message["method"] == "resources/subscribe" and kind == "changes":
        update()
