// Vercel's AI SDK: its provider for OpenAI, which keeps items on the server unless it is told not to, and its
// provider for Open Responses; streamed and not.

import { createOpenResponses } from "@ai-sdk/open-responses";
import { openai } from "@ai-sdk/openai";
import { generateText, stepCountIs, streamText, tool } from "ai";
import { z } from "zod";
import { MODEL, MOST_TURNS, QUESTION, Seen, degreesIn } from "./weather.mjs";

const openResponses = createOpenResponses({
  name: "tollgate",
  url: `${process.env.OPENAI_BASE_URL}/responses`,
  apiKey: process.env.OPENAI_API_KEY,
});

const asked = (model, providerOptions) => ({
  model,
  providerOptions,
  maxRetries: 0,
  stopWhen: stepCountIs(MOST_TURNS),
  tools: {
    get_weather: tool({
      description: "The temperature at a place.",
      inputSchema: z.object({ location: z.string() }),
      execute: ({ location }) => degreesIn(location),
    }),
  },
});

async function streamed(settings) {
  let failure;
  const result = streamText({ ...settings, onError: ({ error }) => (failure ??= error) });
  await result.consumeStream();
  // Otherwise it would only say that there is no output.
  if (failure) throw failure;
  return { steps: await result.steps, messages: await result.responseMessages };
}

async function noStream(settings) {
  const { steps, responseMessages } = await generateText(settings);
  return { steps, messages: responseMessages };
}

async function converse(mode, run, settings) {
  const seen = new Seen(mode);
  const messages = [];
  for (const content of [QUESTION, "And in Rome?"]) {
    messages.push({ role: "user", content });
    const result = await run({ ...settings, messages });
    messages.push(...result.messages);
    for (const step of result.steps) {
      seen.said.push(step.text);
      for (const call of step.toolCalls) seen.call(call.toolCallId, call.toolName, call.input);
      for (const { output } of step.toolResults) seen.outputs.push(output);
    }
  }
  seen.report();
}

for (const [name, run] of [["streamed", streamed], ["no stream", noStream]]) {
  await converse(`openai, ${name}`, run, asked(openai.responses(MODEL)));
  await converse(`openai without store, ${name}`, run, asked(openai.responses(MODEL), { openai: { store: false } }));
  await converse(`open-responses, ${name}`, run, asked(openResponses(MODEL)));
}
