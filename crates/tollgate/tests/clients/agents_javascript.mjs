// The agents SDK for JavaScript: two calls in one turn, a second turn, and a hand-off; streamed and not.

import { Agent, run, setTracingDisabled, tool } from "@openai/agents";
import { z } from "zod";
import { MODEL, MOST_TURNS, QUESTION, Seen, degreesIn } from "./weather.mjs";

// Traces would go to a service outside.
setTracingDisabled(true);

const getWeather = tool({
  name: "get_weather",
  description: "The temperature at a place.",
  parameters: z.object({ location: z.string() }),
  execute: ({ location }) => degreesIn(location),
});

const reporter = new Agent({ name: "reporter", instructions: "Be brief.", model: MODEL, tools: [getWeather] });
const desk = new Agent({
  name: "desk",
  instructions: "Hand over what you do not know.",
  model: MODEL,
  handoffs: [reporter],
});

async function noStream(agent, history) {
  return await run(agent, history, { maxTurns: MOST_TURNS });
}

async function streamed(agent, history) {
  const result = await run(agent, history, { maxTurns: MOST_TURNS, stream: true });
  for await (const _ of result);
  await result.completed;
  return result;
}

function take(seen, result) {
  for (const { type, rawItem } of result.newItems) {
    if (type === "message_output_item") seen.said.push(rawItem.content[0].text);
    if (type === "tool_call_item" || type === "handoff_call_item")
      seen.call(rawItem.callId, rawItem.name, JSON.parse(rawItem.arguments));
    if (type === "tool_call_output_item" || type === "handoff_output_item") seen.outputs.push(rawItem.output.text);
  }
}

async function converse(mode, runOnce, agent, questions) {
  const seen = new Seen(mode);
  let history = [];
  for (const question of questions) {
    const result = await runOnce(agent, [...history, { role: "user", content: question }]);
    take(seen, result);
    history = result.history;
  }
  seen.report();
}

for (const [name, runOnce] of [["streamed", streamed], ["no stream", noStream]]) {
  await converse(`two turns, ${name}`, runOnce, reporter, [QUESTION, "And in Rome?"]);
  await converse(`hand-off, ${name}`, runOnce, desk, ["Let the reporter tell me about Bern."]);
}
