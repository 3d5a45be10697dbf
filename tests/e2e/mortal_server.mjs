// Answers the handshake and exits at the first call, in the middle of it.
import { createInterface } from "node:readline";

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (method === "tools/call") process.exit(3);
  if (method !== "initialize") continue;
  const result = {
    protocolVersion: params.protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: "mortal", version: "1.0.0" },
  };
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, result })}\n`);
}
