// The conversation that every client has with the model, and the one line that it prints about it.
//
// The clients are told where the gateway is as their users tell them: OPENAI_BASE_URL and OPENAI_API_KEY.

export const MODEL = process.env.MODEL;
export const QUESTION = "What is the weather in Paris and in Oslo?";
// A client that never gets its answer would ask for ever.
export const MOST_TURNS = 5;

const DEGREES = { Paris: 18, Oslo: 7, Rome: 25, Bern: 11 };

export function degreesIn(location) {
  return `${DEGREES[location]} degrees in ${location}`;
}

export const GET_WEATHER = {
  type: "function",
  name: "get_weather",
  description: "The temperature at a place.",
  strict: true,
  parameters: {
    type: "object",
    properties: { location: { type: "string" } },
    required: ["location"],
    additionalProperties: false,
  },
};

/** What a client saw, in the order in which it saw it. */
export class Seen {
  said = [];
  calls = [];
  outputs = [];
  callIds = [];
  events = [];

  constructor(mode) {
    this.mode = mode;
  }

  event(kind) {
    // How the text was cut into pieces is of no interest here.
    if (this.events.at(-1) !== kind) this.events.push(kind);
  }

  call(callId, name, args) {
    this.callIds.push(callId);
    this.calls.push({ name, arguments: args });
  }

  /** Runs the call as the client's own program would. */
  run(callId, name, args) {
    this.call(callId, name, args);
    const output = degreesIn(args.location);
    this.outputs.push(output);
    return output;
  }

  report() {
    const { mode, said, calls, outputs, events } = this;
    const line = { mode, said, calls, outputs, distinct_call_ids: new Set(this.callIds).size };
    if (events.length > 0) line.events = events;
    console.log(JSON.stringify(line));
  }
}
