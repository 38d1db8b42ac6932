// A server with the official TypeScript SDK of the second generation, for `cargo xtask servers`: `peer.mjs stdio` or
// `peer.mjs http`. Over HTTP it prints its port on stderr.

import { createServer } from "node:http";
import { once } from "node:events";
import { McpServer, ResourceTemplate, acceptedContent, createMcpHandler, fromJsonSchema, inputRequired } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { toNodeHandler } from "@modelcontextprotocol/node";

const reads = { readOnlyHint: true, openWorldHint: false };

const object = (properties = {}) =>
  fromJsonSchema({ type: "object", properties, required: Object.keys(properties), additionalProperties: false });

const text = (said) => ({ content: [{ type: "text", text: said }] });

/** The number of running calls that end only when the client cancels them. */
let started = 0;

async function tellProgress(ctx, count) {
  const progressToken = ctx.mcpReq._meta?.progressToken;
  if (progressToken === undefined) return;
  for (let progress = 1; progress <= count; progress++) {
    await ctx.mcpReq.notify({ method: "notifications/progress", params: { progressToken, progress, total: count } });
  }
}

function peer() {
  const server = new McpServer({ name: "typescript-peer", version: "1.0.0" });
  const tool = (name, annotations, inputSchema, work, outputSchema) =>
    server.registerTool(name, { description: name, annotations, inputSchema, outputSchema }, work);

  tool("echo", reads, object({ text: { type: "string" } }), async (given) => text(given.text));
  tool("delete", { destructiveHint: true, idempotentHint: true, openWorldHint: false }, object(), async () => text("gone"));
  tool("mystery", undefined, object(), async () => text("done"));
  tool(
    "square",
    reads,
    object({ of: { type: "integer" } }),
    async ({ of }) => ({ ...text(String(of * of)), structuredContent: { square: of * of } }),
    object({ square: { type: "integer" } }),
  );
  tool("fails", reads, object(), async () => {
    throw new Error("on purpose");
  });
  tool("steps", reads, object(), async (_, ctx) => {
    await tellProgress(ctx, 3);
    return text("3 steps");
  });
  tool("forever", reads, object(), async (_, ctx) => {
    started += 1;
    try {
      await tellProgress(ctx, 1);
      await once(ctx.mcpReq.signal, "abort");
    } finally {
      started -= 1;
    }
    return text("taken back");
  });
  tool("running", reads, object(), async () => text(`${started} are running`));
  tool("greet", reads, object(), async (_, ctx) => {
    const person = acceptedContent(ctx.mcpReq.inputResponses, "who");
    if (person) return text(`${person.greeting}, ${person.name}!`);
    const requestedSchema = {
      type: "object",
      properties: { name: { type: "string" }, greeting: { type: "string", default: "Hello" } },
      required: ["name"],
    };
    const who = inputRequired.elicit({ message: "Who is there?", requestedSchema });
    return inputRequired({ inputRequests: { who }, requestState: 'asked "who"' });
  });

  server.registerResource("note", "peer://note", { mimeType: "text/plain" }, async (uri) => ({
    contents: [{ uri: uri.href, mimeType: "text/plain", text: "a note" }],
  }));
  server.registerResource(
    "city",
    new ResourceTemplate("peer://cities/{name}", { list: undefined }),
    {},
    async (uri, { name }) => ({ contents: [{ uri: uri.href, blob: btoa(`About ${name}`) }] }),
  );
  server.registerPrompt("ask_about", { argsSchema: object({ topic: { type: "string" } }) }, ({ topic }) => ({
    messages: [{ role: "user", content: { type: "text", text: `What is ${topic}?` } }],
  }));
  return server;
}

if (process.argv[2] === "http") {
  const listening = createServer(toNodeHandler(createMcpHandler(peer)));
  listening.listen(0, "127.0.0.1", () => {
    console.error(`listening on http://127.0.0.1:${listening.address().port}`);
  });
} else {
  serveStdio(peer);
}
