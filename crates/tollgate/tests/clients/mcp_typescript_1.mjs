// Version 1 of the official TypeScript SDK, over pipes and over HTTP.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { Person, converse } from "./mcp_steps.mjs";

const { TOLLGATE, VAULT, MCP_URL, MCP_TOKEN } = process.env;
const transport = MCP_URL
  ? new StreamableHTTPClientTransport(new URL(MCP_URL), {
      requestInit: { headers: { authorization: `Bearer ${MCP_TOKEN}` } },
    })
  : new StdioClientTransport({ command: TOLLGATE, args: ["mcp", "--vault", VAULT], env: process.env });

const person = new Person();
const client = new Client({ name: "typescript-1", version: "1.32.2" }, { capabilities: { elicitation: { form: {} } } });
client.setRequestHandler(ElicitRequestSchema, person.answer);
await client.connect(transport);
const call = (name, args, options) => client.callTool({ name, arguments: args }, undefined, options);
await converse({ client, call, person });
if (MCP_URL) await transport.terminateSession();
await client.close();
