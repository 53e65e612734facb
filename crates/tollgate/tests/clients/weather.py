"""The conversation that every client has with the model, and the one line that it prints about it.

The clients are told where the gateway is as their users tell them: OPENAI_BASE_URL and OPENAI_API_KEY.
"""

import json
import os

MODEL = os.environ["MODEL"]
QUESTION = "What is the weather in Paris and in Oslo?"
# A client that never gets its answer would ask for ever.
MOST_TURNS = 5

DEGREES = {"Paris": 18, "Oslo": 7, "Rome": 25, "Bern": 11}


def degrees_in(location):
    return f"{DEGREES[location]} degrees in {location}"


GET_WEATHER = {
    "type": "function",
    "name": "get_weather",
    "description": "The temperature at a place.",
    "strict": True,
    "parameters": {
        "type": "object",
        "properties": {"location": {"type": "string"}},
        "required": ["location"],
        "additionalProperties": False,
    },
}


class Seen:
    """What a client saw, in the order in which it saw it."""

    def __init__(self, mode):
        self.mode, self.events = mode, []
        self.said, self.calls, self.outputs, self.call_ids = [], [], [], []

    def event(self, kind):
        # How the text was cut into pieces is of no interest here.
        if self.events[-1:] != [kind]:
            self.events.append(kind)

    def call(self, call_id, name, arguments):
        self.call_ids.append(call_id)
        self.calls.append({"name": name, "arguments": json.loads(arguments)})

    def run(self, call_id, name, arguments):
        """Runs the call as the client's own program would."""
        self.call(call_id, name, arguments)
        output = degrees_in(json.loads(arguments)["location"])
        self.outputs.append(output)
        return output

    def report(self):
        line = {"mode": self.mode, "said": self.said, "calls": self.calls, "outputs": self.outputs}
        line["distinct_call_ids"] = len(set(self.call_ids))
        if self.events:
            line["events"] = self.events
        print(json.dumps(line))
