"""An MCP server that implements document 4 and no extension of ours, for both eras and both transports.

    document4.py ERA [--http] [QUIRK]...

ERA is `legacy` or `modern`. With --http it prints its URL as the first line of stdout. Every request is a line of the file that the
variable ASKED names. Quirks: `ignores-uri` sends the default list to every resources/list; `no-metadata` answers resources/metadata with
-32601; `odd-metadata` answers it with -32602, as the Python SDK does for a method that it does not know; `broken-metadata` answers it
with -32603 for doc:///readme and doc:///src/a; `empty-default` lists nothing by
default; `unknown-empty` sends an empty list for a URI that does not exist; `names-uri` puts the URI into the data of errors; `reads-all`
reads a text from a URI that does not exist; `strays` reads doc:///src/b as doc:///src/a alone.
"""

import json
import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

ERA, *FLAGS = sys.argv[1:]


def folder(uri, name):
    return {"uri": uri, "name": name, "mimeType": "inode/directory", "capabilities": {"list": True, "subscribe": False}}


def file(uri, name, **more):
    return {"uri": uri, "name": name, "mimeType": "text/plain", "capabilities": {"list": False, "subscribe": True}, **more}


ROOT, SRC, LOOP = "doc:///", "doc:///src", "doc:///src/loop"
ENTRIES = {entry["uri"]: entry for entry in (
    folder(ROOT, "root"), folder(SRC, "src"), folder(LOOP, "loop"),
    file("doc:///readme", "readme", size=5, title="Read me"), file("doc:///src/a", "a"), file("doc:///src/b", "b"),
)}
# A folder that holds its parent: the graph has a cycle. The root holds exactly what is listed by default.
CHILDREN = {
    ROOT: [SRC, "doc:///readme"],
    SRC: ["doc:///src/a", LOOP, "doc:///src/b"],
    LOOP: [SRC],
}
DEFAULT = [SRC, "doc:///readme"]
NOT_FOUND = -32002 if ERA == "legacy" else -32602


class Refused(Exception):
    def __init__(self, code, message, uri=None):
        super().__init__(message)
        self.code = code
        self.data = {"data": {"uri": uri}} if "names-uri" in FLAGS else {}


def known(params):
    # As most servers do, it parses the URI: another spelling of it is the same.
    entry = ENTRIES.get(unquote(params.get("uri", "")).replace("DOC:", "doc:"))
    if entry is None:
        raise Refused(NOT_FOUND, "Resource not found", params.get("uri"))
    return entry


def listed(params):
    """One entry on a page, so that every list has several."""
    uris = [] if "empty-default" in FLAGS else DEFAULT
    if "uri" in params and "ignores-uri" not in FLAGS:
        if params["uri"] not in ENTRIES and "unknown-empty" in FLAGS:
            return {"resources": []}
        entry = known(params)
        if not entry["capabilities"]["list"]:
            raise Refused(-32602, "Resource is not listable")
        uris = CHILDREN[entry["uri"]]
    at = int(params.get("cursor", "0"))
    page = {"resources": [ENTRIES[uri] for uri in uris[at:at + 1]]}
    return {**page, "nextCursor": str(at + 1)} if at + 1 < len(uris) else page


def metadata(params):
    for quirk, code in (("no-metadata", -32601), ("odd-metadata", -32602)):
        if quirk in FLAGS:
            raise Refused(code, "Invalid request parameters")
    if "broken-metadata" in FLAGS and params["uri"] in ("doc:///readme", "doc:///src/a"):
        raise Refused(-32603, "Index is broken")
    return {"resource": known(params)}


def read(params):
    if params["uri"] not in ENTRIES and "reads-all" in FLAGS:
        return {"contents": [{"uri": params["uri"], "text": "anything"}]}
    entry = known(params)
    if entry["uri"] == "doc:///src/b" and "strays" in FLAGS:
        entry = ENTRIES["doc:///src/a"]
    if entry["capabilities"]["list"]:
        children = [ENTRIES[uri] for uri in CHILDREN[entry["uri"]]]
        return {"contents": [{**child, "text": "text of " + child["name"]} for child in children]}
    html = {**entry, "mimeType": "text/html", "text": "<p>"}
    return {"contents": [{**entry, "text": "text of " + entry["name"]}, html]}


def discover(_):
    return {"supportedVersions": ["2026-07-28"], "capabilities": {"resources": {}}}


def initialize(_):
    return {"protocolVersion": "2025-11-25", "capabilities": {"resources": {}}, "serverInfo": {"name": "document 4", "version": "1"}}


METHODS = {
    "resources/list": listed,
    "resources/metadata": metadata,
    "resources/read": read,
    "resources/subscribe": lambda params: known(params) and {},
    "resources/templates/list": lambda _: {"resourceTemplates": []},
    "ping": lambda _: {},
    **({"initialize": initialize} if ERA == "legacy" else {"server/discover": discover}),
}


def answer(line):
    """The answer to a message; None for a notification."""
    message = json.loads(line)
    with open(os.environ["ASKED"], "a") as asked:
        asked.write(json.dumps(message) + "\n")
    if "id" not in message:
        return None
    reply = {"jsonrpc": "2.0", "id": message["id"]}
    try:
        method = METHODS.get(message["method"])
        if method is None:
            raise Refused(-32601, "Method not found")
        result = method(message.get("params") or {})
        if ERA == "modern":
            result = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", **result}
        return {**reply, "result": result}
    except Refused as refused:
        return {**reply, "error": {"code": refused.code, "message": str(refused), **refused.data}}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def send(self, status, body=b""):
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        reply = answer(self.rfile.read(int(self.headers["Content-Length"])))
        self.send(202) if reply is None else self.send(200, json.dumps(reply).encode())

    def do_GET(self):
        self.send(405)

    do_DELETE = do_GET

    def log_message(self, *_):
        pass


if "--http" in FLAGS:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(f"http://127.0.0.1:{server.server_port}/mcp", flush=True)
    server.serve_forever()
for line in sys.stdin:
    reply = answer(line)
    if reply is not None:
        print(json.dumps(reply), flush=True)
