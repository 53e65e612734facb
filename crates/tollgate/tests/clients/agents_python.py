"""The agents SDK for Python: two calls in one turn, a second turn, and a hand-off; streamed and not."""

import asyncio

from agents import Agent, Runner, function_tool, set_tracing_disabled
from weather import MODEL, MOST_TURNS, QUESTION, Seen, degrees_in

# Traces would go to a service outside.
set_tracing_disabled(True)


@function_tool
def get_weather(location: str) -> str:
    """The temperature at a place."""
    return degrees_in(location)


reporter = Agent(name="reporter", instructions="Be brief.", model=MODEL, tools=[get_weather])
desk = Agent(name="desk", instructions="Hand over what you do not know.", model=MODEL, handoffs=[reporter])


async def no_stream(seen, agent, history):
    return await Runner.run(agent, history, max_turns=MOST_TURNS)


async def streamed(seen, agent, history):
    result = Runner.run_streamed(agent, history, max_turns=MOST_TURNS)
    async for _ in result.stream_events():
        pass
    return result


def take(seen, result):
    for item in result.new_items:
        if item.type == "message_output_item":
            seen.said.append(item.raw_item.content[0].text)
        elif item.type in ("tool_call_item", "handoff_call_item"):
            seen.call(item.raw_item.call_id, item.raw_item.name, item.raw_item.arguments)
        elif item.type in ("tool_call_output_item", "handoff_output_item"):
            seen.outputs.append(item.raw_item["output"])


async def converse(mode, run, agent, questions):
    seen, history = Seen(mode), []
    for question in questions:
        result = await run(seen, agent, history + [{"role": "user", "content": question}])
        take(seen, result)
        history = result.to_input_list()
    seen.report()


async def main():
    for name, run in [("streamed", streamed), ("no stream", no_stream)]:
        await converse(f"two turns, {name}", run, reporter, [QUESTION, "And in Rome?"])
        await converse(f"hand-off, {name}", run, desk, ["Let the reporter tell me about Bern."])


asyncio.run(main())
