#!/usr/bin/env python3
"""The client of the conformance suites: what a person does with a server, with the program that people have.

The suite starts it as `conformance_client.py URL`. It names the server in the settings of a new vault, trusts them,
approves the tools of the server, and calls each of them.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

PROGRAM = os.environ["TOLLGATE_PROGRAM"]
SCENARIO = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
CONTEXT = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")


def made_up(schema):
    """Returns arguments that a schema accepts."""
    values = {"number": 2, "integer": 2, "boolean": True, "array": [], "object": {}}
    fields = schema.get("properties", {})
    return {
        name: field.get("enum", [values.get(field.get("type"), "test")])[0]
        for name, field in fields.items()
    }


def calls(tools):
    """Returns the calls of the scenario: those that it names, or one of each tool."""
    named = CONTEXT.get("toolCalls")
    if named is not None:
        known = {name.rsplit(".", 1)[1]: name for name in tools}
        return [(known[call["name"]], call["arguments"]) for call in named if call["name"] in known]
    if SCENARIO == "json-schema-2020-12-preservation":
        focal, echo = sorted(tools, key=lambda name: "schema" in tools[name].get("properties", {}))[:2]
        return [(echo, {"schema": tools[focal]})]
    return [(name, made_up(schema)) for name, schema in tools.items()]


def main(url, folder):
    vault = pathlib.Path(folder, "vault")
    (vault / ".tollgate").mkdir(parents=True)
    (vault / ".tollgate/config.toml").write_text('[servers.suite]\nurl = "%s"\n' % url)
    environment = dict(os.environ, XDG_STATE_HOME=str(pathlib.Path(folder, "state")))

    def tollgate(*words):
        ended = subprocess.run([PROGRAM, *words, "--vault", str(vault)], env=environment, capture_output=True, text=True)
        print(words, ended.returncode, ended.stdout[-3000:], ended.stderr[-3000:], file=sys.stderr)
        return ended

    tollgate("trust", "--yes").check_returncode()
    tollgate("servers", "approve", "suite", "--yes").check_returncode()
    listed = json.loads(tollgate("tools", "--json").stdout)
    tools = {tool["name"]: tool["inputSchema"] for tool in listed if tool["name"].startswith("mcp.suite.")}
    for name, arguments in calls(tools):
        ended = tollgate("call", name, json.dumps(arguments), "--yes", "--json")
        if SCENARIO == "tools_call":
            ended.check_returncode()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        main(sys.argv[-1], folder)
