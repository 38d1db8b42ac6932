"""An MCP server of the legacy era over stdio whose answers are in a file: `canned.json` of the folder that it is started in.

It writes every request to `asked.jsonl`, so that a test can count what was sent.

    {"capabilities": {…}, "tools": […],
     "answers": {"METHOD": {"result": …} or {"error": …}},
     "calls": {"TOOL": {"result": …} or {"error": …} or {"elicit": {…}} or {"progress": "TEXT"} or {"hang": true}}}
"""

import json
import os
import sys


def canned():
    with open("canned.json") as file:
        return json.load(file)


def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def receive():
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    with open("asked.jsonl", "a") as file:
        file.write(line)
    return json.loads(line)


def hang():
    with open("hanging", "w") as file:
        file.write(str(os.getpid()))
    while True:
        receive()


def call(params):
    script = canned().get("calls", {}).get(params["name"], {})
    token = params.get("_meta", {}).get("progressToken")
    if "progress" in script:
        send({"method": "notifications/progress", "params": {"progressToken": token, "progress": 0, "message": script["progress"]}})
    if "elicit" in script:
        send({"id": "q1", "method": "elicitation/create", "params": script["elicit"]})
        answer = receive()
        while answer.get("id") != "q1":
            answer = receive()
        return {"result": {"content": [{"type": "text", "text": json.dumps(answer.get("result", answer.get("error")), sort_keys=True)}]}}
    if "hang" in script:
        hang()
    if "error" in script or "result" in script:
        return {name: script[name] for name in ("error", "result") if name in script}
    return {"result": {"content": [{"type": "text", "text": "done"}]}}


def answer(method, params):
    script = canned()
    if method in script.get("answers", {}):
        return script["answers"][method]
    if method == "initialize":
        capabilities = {"tools": {}, **script.get("capabilities", {})}
        return {"result": {"protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": {"name": "canned", "version": "1"}}}
    if method == "tools/list":
        return {"result": {"tools": script.get("tools", [])}}
    if method == "tools/call":
        return call(params)
    if method == "ping":
        return {"result": {}}
    return {"error": {"code": -32601, "message": "Method not found"}}


while True:
    message = receive()
    if "method" in message and "id" in message:
        send({"id": message["id"], **answer(message["method"], message.get("params", {}))})
