"""The official Python SDK, in both eras of the protocol, over pipes and over HTTP: the steps of mcp_steps.mjs."""

import asyncio
import json
import os
import re
from pathlib import Path

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.types import ElicitResult, Implementation

VAULT = Path(os.environ["VAULT"])
BEGUN = VAULT / "begun"
URL = os.environ.get("MCP_URL")
MODE = "2026-07-28" if os.environ["MCP_ERA"] == "modern" else "legacy"


class Person:
    """Gives these answers, one after the other, and remembers what they were asked."""

    def __init__(self):
        self.asked, self.answers = [], []

    async def answer(self, _context, params):
        choice = params.requested_schema["properties"]["decision"]
        tool = params.message.split("\n")[0]
        self.asked.append({"tool": tool, "choices": choice["enum"]})
        answer = self.answers.pop(0) if self.answers else ElicitResult(action="cancel")
        # Where no session is offered there is none to say yes for.
        lasts = answer.content == {"decision": "session"} and "session" not in choice["enum"]
        # A no that comes faster than a person can read counts as a question that was not shown.
        await asyncio.sleep(2)
        return accept("once") if lasts else answer

    def heard(self):
        asked, self.asked = self.asked, []
        return asked


def accept(decision):
    return ElicitResult(action="accept", content={"decision": decision})


def say(step, **seen):
    print(json.dumps({"step": step, **seen}), flush=True)


def result(result):
    text = "\n".join(part.text for part in result.content if part.type == "text").split("\n")[0]
    # How long an answer took decides what else is said about it.
    text = re.sub(r"(: declined|: put away unanswered) .*", r"\1", text)
    return {"failed": bool(result.is_error), "text": text}


async def slow_call(client):
    call = asyncio.ensure_future(
        client.call_tool("ExecCommand", {"cmd": "touch begun && sleep 600", "yield_time_ms": 500_000})
    )
    while not BEGUN.exists() and not call.done():
        await asyncio.sleep(0.02)
    call.cancel()
    try:
        return result(await call)["text"]
    except asyncio.CancelledError:
        return "without one"


async def converse(client, person):
    call = client.call_tool
    listed = await client.list_tools()
    say("list", names=sorted(tool.name for tool in listed.tools))

    read = await call("vault_readFile", {"path": "Inbox.md"})
    say("read", **result(read), content=read.structured_content["data"]["content"])

    denied = await call("vault_createFile", {"path": "Private/a.md", "content": ""})
    say("denied", **result(denied), asked=person.heard())

    person.answers = [accept("once")]
    approved = await call("vault_createFile", {"path": "Approved.md", "content": "Yes.\n"})
    say("approved", **result(approved), asked=person.heard())

    person.answers = [accept("no"), ElicitResult(action="decline"), ElicitResult(action="cancel")]
    for step in ["refused", "declined", "dismissed"]:
        answer = await call("vault_createFile", {"path": f"{step}.md", "content": "No.\n"})
        say(step, **result(answer), asked=person.heard())

    person.answers = [accept("session"), accept("session")]
    for step, content in [("remembered", "One.\n"), ("again", "Two.\n")]:
        answer = await call("vault_writeFile", {"path": "Often.md", "content": content})
        say(step, **result(answer), asked=person.heard())

    ended = await slow_call(client)
    say("cancelled", begun=BEGUN.exists(), ended=ended)

    long = await call("ExecCommand", {"argv": ["seq", "1", "20000"]})
    link = next(part for part in long.content if part.type == "resource_link")
    artifact = (await client.read_resource(link.uri)).contents[0]
    listed = any(resource.uri == link.uri for resource in (await client.list_resources()).resources)
    lines = len(artifact.text.splitlines())
    say("artifact", name=link.name, bytes=link.size, lines=lines, listed=listed)

    told = []

    async def progress(done, _total, _message):
        told.append(done)

    # So many that its end is not there before anything was told of it.
    steps = [{"id": f"read{at}", "tool": "vault.readFile", "args": {"path": "Inbox.md"}} for at in range(60)]
    plan = {"version": "1.0", "goal": "Many reads", "riskLevel": "read-only", "steps": steps}
    ran = await call("plan_run", {"plan": plan}, progress_callback=progress)
    grows = all(first < then for first, then in zip(told, told[1:]))
    say("progress", **result(ran), told=len(told) > 0, grows=grows)

    for name, args in [
        ("vault_readFile", {"path": "Nowhere.md"}),
        ("vault_readFile", {"path": "../outside.md"}),
        ("vault_readFile", {"paht": "Inbox.md"}),
        ("plan_check", {"plan": {"version": "1.0"}}),
    ]:
        say("error", name=name, **result(await call(name, args)))
    try:
        say("unknown", **result(await call("vault_raedFile", {})))
    except Exception as error:
        say("unknown", code=error.error.code, message=error.error.message)


async def main():
    person = Person()
    options = {
        "mode": MODE,
        "elicitation_callback": person.answer,
        "client_info": Implementation(name="python", version="2.3.0"),
    }
    if URL:
        headers = {"authorization": f"Bearer {os.environ['MCP_TOKEN']}"}
        async with httpx2.AsyncClient(headers=headers, timeout=600) as http:
            async with Client(streamable_http_client(URL, http_client=http), **options) as client:
                await converse(client, person)
        return
    command = [os.environ["TOLLGATE"], "mcp", "--vault", str(VAULT)]
    server = StdioServerParameters(command=command[0], args=command[1:], env=dict(os.environ))
    async with Client(server, **options) as client:
        await converse(client, person)


asyncio.run(main())
