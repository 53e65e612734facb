"""What else the official client for Python asks of a server: kept responses, models, structured output, errors."""

import json

import openai
from pydantic import BaseModel
from weather import MODEL, QUESTION

client = openai.OpenAI(max_retries=0)


class City(BaseModel):
    name: str
    degrees: int


def kept():
    response = client.responses.create(model=MODEL, input="Name a city.")
    again = client.responses.retrieve(response.id)
    given = client.responses.input_items.list(response.id).data
    client.responses.delete(response.id)
    *what, message = refusal(client.responses.retrieve, response.id)
    return {
        "said": again.output_text,
        "alike": again.output == response.output,
        "given": [part.text for item in given for part in item.content],
        "after deletion": [*what, message.replace(response.id, "ID")],
    }


def refusal(ask, *args, **asked):
    """The kind of the error, and what the server said about it."""
    try:
        ask(*args, **asked)
    except openai.APIStatusError as error:
        body = error.body
        return [type(error).__name__, error.status_code, body["type"], body["code"], body["param"], body["message"]]
    return "none"


def streamed_failure():
    *_, last = client.responses.create(model=MODEL, input="Fail at once.", stream=True)
    return [last.type, last.response.status, last.response.error.code, last.response.error.message]


seen = {
    "models": [model.id for model in client.models.list()],
    "kept": kept(),
    "structured": client.responses.parse(model=MODEL, input="Name a city.", text_format=City).output_parsed.model_dump(),
    "compacted": [item.type for item in client.responses.compact(model=MODEL, input=QUESTION).output],
    "failed in a stream": streamed_failure(),
    "failed": refusal(client.responses.create, model=MODEL, input="Fail at once."),
    "no model": refusal(client.post, "/responses", body={"input": "Hello."}, cast_to=object),
    "wrong token": refusal(client.with_options(api_key="wrong").responses.create, model=MODEL, input="Hello."),
    "unknown response": refusal(client.responses.create, model=MODEL, input="Hello.", previous_response_id="resp_0"),
}
print(json.dumps(seen))
