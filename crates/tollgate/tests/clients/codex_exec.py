"""`codex exec` as a client: two commands of its own in one turn, over HTTP and over a WebSocket."""

import json
import os
import subprocess
import sys
from pathlib import Path

from weather import MODEL, Seen

# The commands are the two `echo` of model.jsonl. Codex's own sandbox does not work everywhere that tests run.
CONFIG = """
model = "{model}"
model_provider = "tollgate"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
analytics.enabled = false
feedback.enabled = false
features.plugins = false
features.apps = false

[model_providers.tollgate]
name = "Tollgate"
base_url = "{url}"
env_key = "OPENAI_API_KEY"
wire_api = "responses"
supports_websockets = {websockets}
request_max_retries = 0
stream_max_retries = 0
"""


def converse(mode, websockets):
    home = Path(os.environ["CODEX_HOME"])
    home.mkdir(parents=True, exist_ok=True)
    config = CONFIG.format(model=MODEL, url=os.environ["OPENAI_BASE_URL"], websockets=websockets)
    (home / "config.toml").write_text(config)
    command = [os.environ["CODEX"], "exec", "--strict-config", "--json", "--skip-git-repo-check", "--cd", str(home)]
    command.append("Run two commands.")
    ended = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    # It would go on over HTTP without a word to its user.
    assert "WebSocket" not in ended.stderr, ended.stderr
    seen, commands, outputs = Seen(mode), {}, {}
    for line in ended.stdout.splitlines():
        event = json.loads(line)
        item = event.get("item", {})
        match event["type"], item.get("type"):
            case "item.started", "command_execution":
                # Codex shows the command within its shell: /bin/bash -c 'echo one apple'
                commands[item["command"].split("'")[1]] = item["id"]
            case "item.completed", "command_execution":
                outputs[item["id"]] = item["aggregated_output"].strip()
            case "item.completed", "agent_message":
                seen.said.append(item["text"])
            case "turn.failed" | "error", _:
                sys.exit(line)
    # It starts both at the same time, whichever comes first.
    for command, call_id in sorted(commands.items()):
        seen.call(call_id, "exec_command", json.dumps({"cmd": command}))
        seen.outputs.append(outputs[call_id])
    seen.report()


converse("http", "false")
converse("websocket", "true")
