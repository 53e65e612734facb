"""A model's service for the real codex app-server: `/v1/responses` over the turns of model.jsonl, streamed.

A request that brings function tools gets its calls as function_call items, any other the text as it is. Every
request is noted in REQUESTS, one line each, so that a test can see what the app-server passed on.
"""

import json
import os
import re
import sys
import threading
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

LINES = Path(__file__).with_name("model.jsonl").read_text().splitlines()
TURNS = [json.loads(line) for line in LINES if not line.startswith("#")]
CALL = re.compile(r"<tool_call>(.*?)</tool_call>")
noting = threading.Lock()


def turn_for(history):
    last, everything = json.dumps(history[-1]), json.dumps(history)
    for turn in TURNS:
        if turn["match"]["last_contains"] in last and turn["match"].get("any_contains", "") in everything:
            return turn
    return {"text": [f"There is no answer to {last}"]}


def message(pieces):
    item = {"type": "message", "id": f"msg_{uuid.uuid4().hex}", "role": "assistant", "status": "completed"}
    item["content"] = [{"type": "output_text", "text": "".join(pieces), "annotations": []}]
    yield {"type": "response.output_item.added", "item": {**item, "status": "in_progress", "content": []}}
    for piece in pieces:
        yield {"type": "response.output_text.delta", "item_id": item["id"], "content_index": 0, "delta": piece}
    yield {"type": "response.output_item.done", "item": item}


def call(block):
    item = {"type": "function_call", "id": f"fc_{uuid.uuid4().hex}", "call_id": f"call_{uuid.uuid4().hex}"}
    item |= {"status": "completed", **json.loads(block)}
    yield {"type": "response.output_item.added", "item": {**item, "arguments": "", "status": "in_progress"}}
    yield {"type": "response.function_call_arguments.delta", "item_id": item["id"], "delta": item["arguments"]}
    yield {"type": "response.output_item.done", "item": item}


def items(turn, native):
    if not native:
        return [message(turn["text"])]
    # Every second piece is what stands between the tags.
    pieces = CALL.split("".join(turn["text"]))
    return [call(piece) if at % 2 else message([piece]) for at, piece in enumerate(pieces) if piece]


def events(request):
    turn = turn_for(request["input"])
    response = {"id": f"resp_{uuid.uuid4().hex}", "object": "response", "status": "in_progress", "output": []}
    yield {"type": "response.created", "response": dict(response)}
    for index, item in enumerate(items(turn, bool(request.get("tools")))):
        for event in item:
            yield {"output_index": index, **event}
    given, said = turn.get("usage", {}).get("input_tokens", 1), turn.get("usage", {}).get("output_tokens", 1)
    response["usage"] = {"input_tokens": given, "output_tokens": said, "total_tokens": given + said}
    response["usage"] |= {"input_tokens_details": {"cached_tokens": 0}}
    response["usage"] |= {"output_tokens_details": {"reasoning_tokens": 0}}
    yield {"type": "response.completed", "response": {**response, "status": "completed"}}


class Provider(BaseHTTPRequestHandler):
    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        with noting, open(os.environ["REQUESTS"], "a") as requests:
            print(json.dumps(request), file=requests)
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        for number, event in enumerate(events(request)):
            data = json.dumps({"sequence_number": number, **event})
            self.wfile.write(f"event: {event['type']}\ndata: {data}\n\n".encode())
            self.wfile.flush()

    def log_message(self, *_):
        pass


provider = ThreadingHTTPServer(("127.0.0.1", 0), Provider)
provider.daemon_threads = True
# Whoever started us reads where we are.
print(f"http://127.0.0.1:{provider.server_port}/v1", flush=True)
# And when they are gone, so are we.
threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
provider.serve_forever()
