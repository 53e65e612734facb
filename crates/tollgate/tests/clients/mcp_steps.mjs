// What every MCP client does with Tollgate, whichever SDK it is made with. A line of JSON for each step: what the client
// was given, after its own validation, and what its person was asked.
import { existsSync } from "node:fs";
import { join } from "node:path";

const { VAULT } = process.env;
const BEGUN = join(VAULT, "begun");

/** Longer than a question takes to read at the least. */
const READING_MS = 2000;

/** A person who gives these answers, one after the other, and remembers what they were asked. */
export class Person {
  asked = [];
  answers = [];

  answer = async (request) => {
    const { message, requestedSchema } = request.params;
    const choice = requestedSchema.properties.decision;
    const tool = message.split("\n")[0];
    this.asked.push({ tool, choices: choice.enum ?? choice.oneOf.map((one) => one.const) });
    const answer = this.answers.shift() ?? { action: "cancel" };
    // Where no session is offered there is none to say yes for.
    const lasts = answer.content?.decision === "session" && !this.asked.at(-1).choices.includes("session");
    // A no that comes faster than a person can read counts as a question that was not shown.
    await new Promise((read) => setTimeout(read, READING_MS));
    return lasts ? accept("once") : answer;
  };

  /** What was asked since the last time. */
  heard() {
    return this.asked.splice(0);
  }
}

const accept = (decision) => ({ action: "accept", content: { decision } });

function say(step, seen) {
  console.log(JSON.stringify({ step, ...seen }));
}

/** A result as a client has it. */
function result(result) {
  const text = result.content.filter((part) => part.type === "text").map((part) => part.text);
  // How long an answer took decides what else is said about it.
  const first = text.join("\n").split("\n")[0].replace(/(: declined|: put away unanswered) .*/, "$1");
  return { failed: result.isError === true, text: first };
}

/** `call(name, args, options)` makes a call. */
export async function converse({ client, call, person }) {
  const write = (path, content) => call("vault_writeFile", { path, content });
  const listed = await client.listTools();
  say("list", { names: listed.tools.map((tool) => tool.name).sort() });

  const read = await call("vault_readFile", { path: "Inbox.md" });
  say("read", { ...result(read), content: read.structuredContent.data.content });

  say("denied", { ...result(await call("vault_createFile", { path: "Private/a.md", content: "" })), asked: person.heard() });

  person.answers = [accept("once")];
  const approved = await call("vault_createFile", { path: "Approved.md", content: "Yes.\n" });
  say("approved", { ...result(approved), asked: person.heard() });

  person.answers = [accept("no"), { action: "decline" }, { action: "cancel" }];
  for (const step of ["refused", "declined", "dismissed"]) {
    const answer = await call("vault_createFile", { path: `${step}.md`, content: "No.\n" });
    say(step, { ...result(answer), asked: person.heard() });
  }

  person.answers = [accept("session"), accept("session")];
  say("remembered", { ...result(await write("Often.md", "One.\n")), asked: person.heard() });
  say("again", { ...result(await write("Often.md", "Two.\n")), asked: person.heard() });

  const slow = new AbortController();
  const cut = call("ExecCommand", { cmd: "touch begun && sleep 600", yield_time_ms: 500_000 }, { signal: slow.signal });
  let over = false;
  const ended = cut.then((early) => result(early).text, () => "without one").finally(() => (over = true));
  while (!existsSync(BEGUN) && !over) await new Promise((soon) => setTimeout(soon, 20));
  slow.abort("no longer wanted");
  say("cancelled", { begun: existsSync(BEGUN), ended: await ended });

  const long = await call("ExecCommand", { argv: ["seq", "1", "20000"] });
  const link = long.content.find((part) => part.type === "resource_link");
  const [artifact] = (await client.readResource({ uri: link.uri })).contents;
  const { resources } = await client.listResources();
  say("artifact", {
    name: link.name, bytes: link.size, lines: artifact.text.split("\n").length - 1,
    listed: resources.some((resource) => resource.uri === link.uri),
  });

  const told = [];
  // So many that its end is not there before anything was told of it.
  const steps = Array.from({ length: 60 }, (_, at) => ({
    id: `read${at}`, tool: "vault.readFile", args: { path: "Inbox.md" },
  }));
  const plan = { version: "1.0", goal: "Many reads", riskLevel: "read-only", steps };
  const ran = await call("plan_run", { plan }, { onprogress: (progress) => told.push(progress.progress) });
  const grows = told.every((count, index) => index === 0 || count > told[index - 1]);
  say("progress", { ...result(ran), told: told.length > 0, grows });

  for (const [name, args] of [
    ["vault_readFile", { path: "Nowhere.md" }],
    ["vault_readFile", { path: "../outside.md" }],
    ["vault_readFile", { paht: "Inbox.md" }],
    ["plan_check", { plan: { version: "1.0" } }],
  ]) say("error", { name, ...result(await call(name, args)) });
  const unknown = await call("vault_raedFile", {}).then(result, (error) => ({ code: error.code, message: error.message }));
  say("unknown", unknown);
}
