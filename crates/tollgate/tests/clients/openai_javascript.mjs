// The official client for JavaScript: raw stream, stream helper, no stream.

import assert from "node:assert";
import OpenAI from "openai";
import { GET_WEATHER, MODEL, MOST_TURNS, QUESTION, Seen } from "./weather.mjs";

const client = new OpenAI({ maxRetries: 0 });
const asked = (input) => ({ model: MODEL, tools: [GET_WEATHER], input });

async function rawStream(seen, input) {
  let last;
  for await (const event of await client.responses.create({ ...asked(input), stream: true })) {
    seen.event(event.type);
    last = event;
  }
  return last.response;
}

async function streamHelper(seen, input) {
  const stream = client.responses.stream(asked(input));
  for await (const event of stream) seen.event(event.type);
  return await stream.finalResponse();
}

async function noStream(seen, input) {
  return await client.responses.create(asked(input));
}

/** A streamed response has no `output_text`: the client adds it to others only. */
function textOf(response) {
  const parts = response.output.flatMap((item) => (item.type === "message" ? item.content : []));
  return parts.map((part) => part.text).join("");
}

async function converse(mode, ask) {
  const seen = new Seen(mode);
  const history = [{ role: "user", content: QUESTION }];
  for (let turn = 0; turn < MOST_TURNS; turn += 1) {
    const response = await ask(seen, history);
    assert.equal(response.status, "completed");
    seen.said.push(textOf(response));
    const calls = response.output.filter((item) => item.type === "function_call");
    if (calls.length === 0) break;
    const outputs = calls.map(({ call_id, name, arguments: args }) => ({
      type: "function_call_output",
      call_id,
      output: seen.run(call_id, name, JSON.parse(args)),
    }));
    history.push(...response.output, ...outputs);
  }
  seen.report();
}

await converse("raw stream", rawStream);
await converse("stream helper", streamHelper);
await converse("no stream", noStream);
