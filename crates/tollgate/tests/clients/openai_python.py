"""The official client for Python: raw stream, stream helper, no stream, WebSocket, and previous_response_id."""

from openai import OpenAI
from weather import GET_WEATHER, MODEL, MOST_TURNS, QUESTION, Seen

client = OpenAI(max_retries=0)


def raw_stream(seen, **asked):
    for event in client.responses.create(model=MODEL, tools=[GET_WEATHER], stream=True, **asked):
        seen.event(event.type)
    return event.response


def stream_helper(seen, **asked):
    with client.responses.stream(model=MODEL, tools=[GET_WEATHER], **asked) as stream:
        for event in stream:
            seen.event(event.type)
        return stream.get_final_response()


def no_stream(seen, **asked):
    return client.responses.create(model=MODEL, tools=[GET_WEATHER], **asked)


def web_socket(seen, **asked):
    connection.response.create(model=MODEL, tools=[GET_WEATHER], **asked)
    for event in connection:
        seen.event(event.type)
        if event.type in ("response.completed", "response.failed", "response.incomplete", "error"):
            return event.response


def take(seen, response):
    """Notes what the model said, runs its calls, and gives their outputs."""
    assert response.status == "completed", response
    seen.said.append(response.output_text)
    calls = [item for item in response.output if item.type == "function_call"]
    return [
        {"type": "function_call_output", "call_id": call.call_id, "output": seen.run(call.call_id, call.name, call.arguments)}
        for call in calls
    ]


def echo_everything(mode, ask):
    """Sends everything again, as most programs do."""
    seen, history = Seen(mode), [{"role": "user", "content": QUESTION}]
    for _ in range(MOST_TURNS):
        response = ask(seen, input=history)
        outputs = take(seen, response)
        if not outputs:
            break
        history += response.output + outputs
    seen.report()


def send_only_outputs(mode, ask):
    """Leaves it to the gateway to remember what was said."""
    seen = Seen(mode)
    response = ask(seen, input=QUESTION)
    for _ in range(MOST_TURNS):
        outputs = take(seen, response)
        if not outputs:
            break
        response = ask(seen, input=outputs, previous_response_id=response.id)
    seen.report()


echo_everything("raw stream", raw_stream)
echo_everything("stream helper", stream_helper)
echo_everything("no stream", no_stream)
send_only_outputs("previous response, raw stream", raw_stream)
send_only_outputs("previous response, no stream", no_stream)
with client.responses.connect(max_retries=0) as connection:
    echo_everything("web socket", web_socket)
    send_only_outputs("previous response, web socket", web_socket)
