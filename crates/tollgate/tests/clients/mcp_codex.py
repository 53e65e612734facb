"""The real codex app-server with Tollgate as its MCP server and a model of ours behind it.

The model makes the one call that the person's message names, and says what came of it. A line of JSON for each step.
"""

import json
import os
import queue
import re
import subprocess
import threading
import time
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

VAULT = Path(os.environ["VAULT"])
BEGUN = VAULT / "begun"
HOME = Path(os.environ["CODEX_HOME"])
PREFIX = "mcp__tollgate"


def say(step, **seen):
    print(json.dumps({"step": step, **seen}), flush=True)


class Model(BaseHTTPRequestHandler):
    """`/v1/responses`, streamed: a call for what the person asked for, then the first line of what came back."""

    offered = []

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        for event in events(request):
            self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())

    def log_message(self, *_):
        pass


def names(tools):
    """The tools of Tollgate among what codex offers, however it groups them, by the name that the server gave."""
    found = {}
    for tool in tools:
        if tool.get("type") == "namespace" and tool["name"].startswith(PREFIX):
            found |= {inner["name"]: (tool["name"], inner["name"]) for inner in tool["tools"]}
        elif tool.get("name", "").startswith(PREFIX + "__"):
            found[tool["name"].removeprefix(PREFIX + "__")] = (None, tool["name"])
    return found


def events(request):
    tools, last = names(request["tools"]), request["input"][-1]
    Model.offered = sorted(tools)
    if last["type"] == "function_call_output":
        item = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]}
    else:
        wanted = json.loads(last["content"][-1]["text"])
        namespace, name = tools[wanted["tool"]]
        item = {"type": "function_call", "call_id": f"call_{uuid.uuid4().hex}", "name": name}
        item |= {"arguments": json.dumps(wanted["args"])} | ({"namespace": namespace} if namespace else {})
    item |= {"id": f"item_{uuid.uuid4().hex}", "status": "completed"}
    response = {"id": f"resp_{uuid.uuid4().hex}", "object": "response", "status": "in_progress", "output": []}
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    yield {"type": "response.created", "response": response}
    yield {"type": "response.output_item.done", "output_index": 0, "item": item}
    yield {"type": "response.completed", "response": {**response, "status": "completed", "usage": usage}}


class Codex:
    """An app-server, and a person who answers its questions."""

    def __init__(self, url):
        HOME.mkdir(parents=True, exist_ok=True)
        server = [os.environ["TOLLGATE"], "mcp", "--vault", str(VAULT)]
        state = os.environ["XDG_STATE_HOME"]
        (HOME / "config.toml").write_text(f"""
model = "fake-model"
model_provider = "fake"
approval_policy = "on-request"
sandbox_mode = "read-only"
check_for_update_on_startup = false
analytics.enabled = false
features.plugins = false
features.apps = false

[model_providers.fake]
name = "fake"
base_url = "{url}"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0

[mcp_servers.tollgate]
command = {json.dumps(server[0])}
args = {json.dumps(server[1:])}
env = {{ XDG_STATE_HOME = {json.dumps(state)}, HOME = {json.dumps(os.environ["HOME"])} }}
startup_timeout_sec = 60
""")
        self.process = subprocess.Popen(
            [os.environ["CODEX"], "app-server"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            stderr=open(HOME / "stderr", "w"),
        )
        self.came, self.next, self.asked, self.answers = queue.Queue(), 0, [], []
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.came.put(json.loads(line))

    def send(self, message):
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def request(self, method, params):
        self.next += 1
        self.send({"id": self.next, "method": method, "params": params})
        return self.until(lambda message: message.get("id") == self.next and "method" not in message)["result"]

    def until(self, is_it):
        """The first message that it is; on the way, everything that is asked is answered."""
        while True:
            message = self.came.get(timeout=100)
            if "method" in message and "id" in message:
                self.send({"id": message["id"], "result": self.answer(message)})
            elif is_it(message):
                return message

    def answer(self, question):
        params = question["params"]
        assert question["method"] == "mcpServer/elicitation/request", question
        if (params.get("_meta") or {}).get("codex_approval_kind") == "mcp_tool_call":
            # Its own question, which it asks about every tool that may change something.
            self.asked.append("codex asks")
            return {"action": "accept", "content": {}, "_meta": None}
        self.asked.append(params["message"].split("\n")[0])
        # A no that comes faster than a person can read counts as a question that was not shown.
        time.sleep(2)
        return self.answers.pop(0) if self.answers else {"action": "cancel", "content": None, "_meta": None}

    def begin(self, tool, **args):
        text = json.dumps({"tool": tool, "args": args})
        params = {"threadId": self.thread, "input": [{"type": "text", "text": text}]}
        return self.request("turn/start", params)["turn"]["id"]

    def call(self, tool, **args):
        """Has the model make a call; what came of it, and what was asked about it."""
        self.asked = []
        self.begin(tool, **args)
        return {**self.result(), "asked": self.asked}

    def result(self):
        done = self.until(lambda message: message.get("method") == "item/completed"
                          and message["params"]["item"]["type"] == "mcpToolCall")["params"]["item"]
        ended = self.until(lambda message: message.get("method") == "turn/completed")
        result, error = done.get("result") or {}, done.get("error") or {}
        parts = [part["text"] for part in result.get("content", []) if part["type"] == "text"]
        text = ("\n".join(parts) or error.get("message", "")).split("\n")[0]
        text = re.sub(r"(: declined|: put away unanswered) .*", r"\1", text)
        links = [part["uri"] for part in result.get("content", []) if part["type"] == "resource_link"]
        told = {"status": done["status"], "text": text, "turn": ended["params"]["turn"]["status"]}
        return told | ({"links": links} if links else {})


def accept(decision):
    return {"action": "accept", "content": {"decision": decision}, "_meta": None}


def main():
    model = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=model.serve_forever, daemon=True).start()
    codex = Codex(f"http://127.0.0.1:{model.server_port}/v1")
    codex.request("initialize", {"clientInfo": {"name": "test", "title": None, "version": "1"}, "capabilities": {}})
    codex.send({"method": "initialized"})
    codex.thread = codex.request("thread/start", {"cwd": str(HOME)})["thread"]["id"]

    read = codex.call("vault_readFile", path="Inbox.md")
    say("list", names=Model.offered)
    say("read", **read)
    say("denied", **codex.call("vault_createFile", path="Private/a.md", content=""))
    codex.answers = [accept("once")]
    say("approved", **codex.call("vault_createFile", path="Approved.md", content="Yes.\n"))
    codex.answers = [{"action": "decline", "content": None, "_meta": None}]
    say("declined", **codex.call("vault_createFile", path="declined.md", content="No.\n"))
    codex.answers = [accept("session")]
    say("remembered", **codex.call("vault_writeFile", path="Often.md", content="One.\n"))
    say("unasked", **codex.call("vault_writeFile", path="Often.md", content="Two.\n"))

    artifact = codex.call("ExecCommand", argv=["seq", "1", "20000"])
    params = {"threadId": codex.thread, "server": "tollgate", "uri": artifact.pop("links")[0]}
    contents = codex.request("mcpServer/resource/read", params)["contents"]
    say("artifact", **artifact, lines=len(contents[0]["text"].splitlines()))

    turn = codex.begin("ExecCommand", cmd="touch begun && sleep 600", yield_time_ms=500_000)
    while not BEGUN.exists():
        try:
            message = codex.came.get(timeout=0.02)
        except queue.Empty:
            continue
        if "method" in message and "id" in message:
            codex.send({"id": message["id"], "result": codex.answer(message)})
    codex.request("turn/interrupt", {"threadId": codex.thread, "turnId": turn})
    ended = codex.until(lambda message: message.get("method") == "turn/completed")
    say("cancelled", turn=ended["params"]["turn"]["status"])
    say("afterwards", **codex.call("vault_readFile", path="Inbox.md"))
    codex.process.stdin.close()
    codex.process.wait()


main()
