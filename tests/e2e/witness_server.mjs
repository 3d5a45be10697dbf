// A small server made with the official SDK for the two things server-everything does not offer: it tells which
// calls a client cancelled, and it announces a change of its tool list when asked to.
//
//   node witness_server.mjs stdio
//   node witness_server.mjs http      (loopback, a port the system chooses, "bound to port N" on stderr)

import { createServer } from "node:http";
import { randomUUID } from "node:crypto";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { z } from "zod";

function text(value) {
  return { content: [{ type: "text", text: value }] };
}

function witness() {
  const server = new McpServer({ name: "witness", version: "1.0.0" }, { capabilities: { tools: { listChanged: true } } });
  let cancelled;
  const firstCancellation = new Promise((resolve) => (cancelled = resolve));

  server.registerTool("wait-for-cancel", { description: "Runs until the client cancels it" }, async (extra) => {
    const stopped = new Promise((resolve) => {
      extra.signal.addEventListener("abort", () => {
        cancelled(`wait-for-cancel: ${extra.signal.reason}`);
        resolve();
      });
    });
    // The client's sign that the call runs: cancelling earlier might overtake it.
    const progressToken = extra._meta?.progressToken;
    await extra.sendNotification({ method: "notifications/progress", params: { progressToken, progress: 1 } });
    await stopped;
    return text("cancelled");
  });

  server.registerTool("cancellations", { description: "Waits for the first cancellation and names it" }, async () =>
    text(await firstCancellation),
  );

  server.registerTool(
    "announce-tool",
    { description: "Adds a tool to the list", inputSchema: { name: z.string() } },
    async ({ name }) => {
      server.registerTool(name, { description: "Added while the session runs" }, async () => text("hello"));
      return text(`added ${name}`);
    },
  );
  return server;
}

if (process.argv[2] === "stdio") {
  await witness().connect(new StdioServerTransport());
} else {
  const sessions = new Map();
  const http = createServer(async (request, response) => {
    const id = request.headers["mcp-session-id"];
    let transport = sessions.get(id);
    if (id !== undefined && transport === undefined) {
      response.writeHead(404).end();
      return;
    }
    if (transport === undefined) {
      transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: () => randomUUID(),
        onsessioninitialized: (started) => sessions.set(started, transport),
        onsessionclosed: (ended) => sessions.delete(ended),
      });
      await witness().connect(transport);
    }
    await transport.handleRequest(request, response);
  });
  http.listen(0, "127.0.0.1", () => console.error(`bound to port ${http.address().port}`));
  process.stdin.on("end", () => process.exit(0)).resume();
}
