// Version 2 of the official TypeScript SDK, in both eras of the protocol, over pipes and over HTTP.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { Person, converse } from "./mcp_steps.mjs";

const { TOLLGATE, VAULT, MCP_URL, MCP_TOKEN, MCP_ERA } = process.env;
const transport = MCP_URL
  ? new StreamableHTTPClientTransport(new URL(MCP_URL), {
      requestInit: { headers: { authorization: `Bearer ${MCP_TOKEN}` } },
    })
  : new StdioClientTransport({ command: TOLLGATE, args: ["mcp", "--vault", VAULT], env: process.env });

const person = new Person();
const mode = MCP_ERA === "modern" ? { pin: "2026-07-28" } : "legacy";
const client = new Client(
  { name: "typescript-2", version: "2.3.1" },
  { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode } },
);
client.setRequestHandler("elicitation/create", person.answer);
await client.connect(transport);
const call = (name, args, options) => client.callTool({ name, arguments: args }, options);
await converse({ client, call, person });
if (MCP_URL && MCP_ERA !== "modern") await transport.terminateSession();
await client.close();
