// Drives the official TypeScript client through scenarios and prints what it saw.
//
//   node client.mjs SCENARIO --url URL
//   node client.mjs SCENARIO -- COMMAND ARGS...
//   node client.mjs --serve
//
// One JSON object on stdout, {"ok": true, "saw": {...}} or {"ok": false, "error": "..."}; exit code 0 or 1. Serving,
// it takes {"n": 1, "scenario": "...", "url": "..."} or {..., "command": [...]} a line on stdin and answers each with
// such an object that has the same n, in the order in which they end: starting a client takes longer than a scenario.
// This file judges nothing: the expected values stand in expected.rs, the same for both clients.

import { randomInt } from "node:crypto";
import { createInterface } from "node:readline";

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import * as types from "@modelcontextprotocol/sdk/types.js";

// A driver that hangs must end by itself, well before the harness gives up on it.
const DEADLINE_MS = 60_000;

function parseArguments(argv) {
  const [scenario, flag, ...rest] = argv;
  if (flag === "--url" && rest.length === 1) return { scenario, url: rest[0] };
  if (flag === "--" && rest.length > 0) return { scenario, command: rest };
  throw new Error("usage: client.mjs (--serve | SCENARIO (--url URL | -- COMMAND ARGS...))");
}

/** A list that others can wait on: `push` adds, `first` resolves with the first item that matches. */
class Inbox {
  items = [];
  #waiting = [];
  push(item) {
    this.items.push(item);
    for (const waiting of this.#waiting) if (waiting.matches(item)) waiting.resolve(item);
  }
  first(matches) {
    const found = this.items.find(matches);
    if (found !== undefined) return Promise.resolve(found);
    return new Promise((resolve) => this.#waiting.push({ matches, resolve }));
  }
}

/** Everything one session needs: the client, what arrived unasked, and when the GET stream opened. */
class Session {
  notifications = new Inbox();
  arrived = [];
  requests = [];
  elicitation = { action: "decline" };
  streamOpen = Promise.resolve();
  stderr = "";

  constructor({ url, command }, hasRoots) {
    const capabilities = { sampling: {}, elicitation: { form: {}, url: {} } };
    if (hasRoots) capabilities.roots = { listChanged: true };
    this.client = new Client({ name: "e2e-typescript", version: "1.0.0" }, { capabilities });
    this.client.fallbackNotificationHandler = async (n) => this.notifications.push(n);
    if (hasRoots) {
      this.client.setRequestHandler(types.ListRootsRequestSchema, async (request) => {
        this.requests.push(request);
        return { roots: [{ uri: "file:///e2e/root", name: "e2e root" }] };
      });
    }
    this.client.setRequestHandler(types.CreateMessageRequestSchema, async (request) => {
      this.requests.push(request);
      return {
        role: "assistant",
        content: { type: "text", text: "sampled by the client" },
        model: "e2e-model",
        stopReason: "endTurn",
      };
    });
    this.client.setRequestHandler(types.ElicitRequestSchema, async (request) => {
      this.requests.push(request);
      return this.elicitation;
    });
    this.transport = url ? this.#http(url) : this.#stdio(command);
    // The client tells its transport which version was agreed, and nobody else.
    const tell = this.transport.setProtocolVersion?.bind(this.transport);
    this.transport.setProtocolVersion = (version) => {
      this.protocolVersion = version;
      tell?.(version);
    };
  }

  #stdio([command, ...args]) {
    const transport = new StdioClientTransport({ command, args, stderr: "pipe" });
    transport.stderr.on("data", (chunk) => (this.stderr += chunk));
    return transport;
  }

  #http(url) {
    // Messages that belong to no request travel on the GET stream, and a server drops them while it is not open.
    // Looking at the answers is the only way to know when it is.
    let opened;
    this.streamOpen = new Promise((resolve) => (opened = resolve));
    const watchingFetch = async (input, init) => {
      const response = await fetch(input, init);
      if (init?.method === "GET" && response.ok) opened();
      return response;
    };
    return new StreamableHTTPClientTransport(new URL(url), { fetch: watchingFetch });
  }

  async open() {
    await this.client.connect(this.transport);
    const deliver = this.transport.onmessage;
    this.transport.onmessage = (message, extra) => {
      this.arrived.push(message);
      deliver(message, extra);
    };
  }

  async close() {
    // A client that leaves says so; over HTTP that is the DELETE request.
    if (this.transport.terminateSession) await this.transport.terminateSession();
    await this.client.close();
  }

  async texts(name, args, options) {
    const result = await this.client.callTool({ name, arguments: args }, undefined, options);
    return { isError: result.isError ?? false, texts: result.content.map((part) => part.text) };
  }
}

async function caught(promise) {
  try {
    await promise;
    return null;
  } catch (error) {
    // The client puts this in front of what the server wrote.
    const prefix = `MCP error ${error.code}: `;
    if (!error.message.startsWith(prefix)) throw error;
    return { code: error.code, message: error.message.slice(prefix.length) };
  }
}

/** The client's own abort, once the call is known to run. */
async function abortWhenRunning(session, name, args) {
  const abort = new AbortController();
  const seen = [];
  const call = session.client.callTool({ name, arguments: args }, undefined, {
    signal: abort.signal,
    onprogress: (progress) => {
      seen.push(progress.progress);
      abort.abort("the user pressed stop");
    },
  });
  const outcome = await call.then(
    () => "a result came",
    (error) => error,
  );
  return { aborted: abort.signal.aborted && outcome instanceof Error, progressBefore: seen.slice(0, 1) };
}

// A client with roots is asked for them 350 ms after it has come. server-everything then waits a minute for the
// answer, even when the client has closed its stdin in between, and has to be killed; so only these have roots.
const withRoots = ["list_tools", "roots"];

const scenarios = {
  async initialize({ client, protocolVersion }) {
    return {
      protocolVersion,
      serverInfo: client.getServerVersion(),
      capabilities: client.getServerCapabilities(),
      instructions: client.getInstructions().split("\n")[0],
    };
  },

  async list_tools({ client }) {
    const { tools } = await client.listTools();
    return { names: tools.map((tool) => tool.name), echo: tools.find((tool) => tool.name === "echo") };
  },

  async call_tool(session) {
    const message = 'quote " backslash \\ slash / tab \t line \n umlaut ü, sign 𝄞, separator \u2028, nul \u0000.';
    return {
      echo: await session.texts("echo", { message }),
      sum: await session.texts("get-sum", { a: 0.1, b: -12345678901 }),
      unknown: await session.texts("no-such-tool", {}),
    };
  },

  async resources({ client }) {
    const { resources } = await client.listResources();
    const { resourceTemplates } = await client.listResourceTemplates();
    const document = await client.readResource({ uri: "demo://resource/static/document/instructions.md" });
    const blob = await client.readResource({ uri: "demo://resource/dynamic/blob/7" });
    return {
      uris: resources.map((resource) => resource.uri),
      templates: resourceTemplates.map((template) => template.uriTemplate),
      document: { ...document.contents[0], text: document.contents[0].text.split("\n")[0] },
      blob: Buffer.from(blob.contents[0].blob, "base64").toString().split(" created at ")[0],
      unknown: await caught(client.readResource({ uri: "demo://resource/nowhere" })),
    };
  },

  async prompts({ client }) {
    const { prompts } = await client.listPrompts();
    const plain = await client.getPrompt({ name: "simple-prompt" });
    const filled = await client.getPrompt({ name: "args-prompt", arguments: { city: "Köln", state: "NRW" } });
    const completed = await client.complete({
      ref: { type: "ref/prompt", name: "completable-prompt" },
      argument: { name: "department", value: "S" },
    });
    return {
      names: prompts.map((prompt) => prompt.name),
      plain: plain.messages,
      filled: filled.messages,
      completion: completed.completion.values,
    };
  },

  async progress(session) {
    let last;
    const onprogress = (progress) => (last = progress);
    const result = await session.texts("trigger-long-running-operation", { duration: 0.4, steps: 4 }, { onprogress });
    // In the order of arrival and not from the callback: the client forgets it when the result is in, and so drops
    // the last progress when both come in one read.
    const end = session.arrived.findIndex((message) => message.result?.content !== undefined);
    const before = session.arrived.slice(0, end).filter((message) => message.method === "notifications/progress");
    if (last === undefined) throw new Error("the callback got no progress");
    return { beforeTheResult: before.map(({ params }) => [params.progress, params.total]), result };
  },

  async sampling(session) {
    const result = await session.texts("trigger-sampling-request", { prompt: "say something", maxTokens: 17 });
    const { texts } = result;
    return {
      asked: session.requests
        .filter((request) => request.method === "sampling/createMessage")
        .map(({ params }) => ({
          messages: params.messages,
          systemPrompt: params.systemPrompt,
          maxTokens: params.maxTokens,
          temperature: params.temperature,
        })),
      answered: JSON.parse(texts[0].slice(texts[0].indexOf("{"))),
    };
  },

  async elicitation(session) {
    const content = { name: "Ada", check: true, integer: 7, number: 2.5 };
    session.elicitation = { action: "accept", content };
    const accepted = await session.texts("trigger-elicitation-request", {});
    session.elicitation = { action: "decline" };
    const declined = await session.texts("trigger-elicitation-request", {});
    const asked = session.requests.filter((request) => request.method === "elicitation/create");
    return {
      asked: asked.map(({ params }) => ({
        message: params.message,
        required: params.requestedSchema.required,
        fields: Object.keys(params.requestedSchema.properties),
      })),
      accepted: accepted.texts.slice(0, 2),
      declined: declined.texts.slice(0, 1),
    };
  },

  async cancellation(session) {
    // Far longer than the driver's deadline: waiting for its end instead of cancelling fails.
    const stopped = await abortWhenRunning(session, "trigger-long-running-operation", { duration: 300, steps: 3000 });
    return { ...stopped, next: await session.texts("echo", { message: "still here" }) };
  },

  async list_changed(session) {
    await session.streamOpen;
    const name = `e2e-${randomInt(2 ** 40)}.gz`;
    const uri = `demo://resource/session/${name}`;
    const has = async () => (await session.client.listResources()).resources.some((r) => r.uri === uri);
    const before = await has();
    await session.texts("gzip-file-as-resource", { name, data: "data:text/plain,hello" });
    const notification = await session.notifications.first(
      (n) => n.method === "notifications/resources/list_changed",
    );
    return { before, notification: notification.method, after: await has() };
  },

  async updates(session) {
    await session.streamOpen;
    const uri = `demo://resource/dynamic/text/${randomInt(1, 2 ** 40)}`;
    await session.client.subscribeResource({ uri });
    const log = await session.notifications.first((n) => n.method === "notifications/message" && n.params.data.includes(uri));
    await session.texts("toggle-subscriber-updates", {});
    const updated = await session.notifications.first((n) => n.method === "notifications/resources/updated");
    await session.texts("toggle-subscriber-updates", {});
    return { log: [log.params.level, log.params.data.split(uri)[0]], updatedIsTheSubscribed: updated.params.uri === uri };
  },

  async roots(session) {
    await session.streamOpen;
    const { texts } = await session.texts("get-roots-list", {});
    const asked = session.requests.some((request) => request.method === "roots/list");
    // Asked by the tool or, if that was quicker, by the server's own timer.
    return { asked, text: texts[0].split("\n\nNote:")[0] };
  },

  // The two below want witness_server.mjs, which tells what server-everything keeps to itself.

  async cancel_reaches_server(session) {
    const stopped = await abortWhenRunning(session, "wait-for-cancel", {});
    return { ...stopped, witnessed: (await session.texts("cancellations", {})).texts };
  },

  async tools_list_changed(session) {
    await session.streamOpen;
    const names = async () => (await session.client.listTools()).tools.map((tool) => tool.name);
    const before = await names();
    await session.texts("announce-tool", { name: "newcomer" });
    const notification = await session.notifications.first((n) => n.method === "notifications/tools/list_changed");
    return { before, notification: notification.method, after: await names() };
  },
};

/** Runs one scenario in a session of its own; never throws. */
async function run({ scenario, ...target }) {
  let session;
  let timer;
  const deadline = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no end within ${DEADLINE_MS} ms`)), DEADLINE_MS);
  });
  const work = async () => {
    if (!Object.hasOwn(scenarios, scenario)) throw new Error(`no scenario called ${scenario}`);
    session = new Session(target, withRoots.includes(scenario));
    await session.open();
    const saw = await scenarios[scenario](session);
    await session.close();
    return saw;
  };
  try {
    const saw = await Promise.race([work(), deadline]);
    return { ok: true, saw, stderr: session.stderr };
  } catch (error) {
    // So that a command that was started ends, too.
    await session?.client.close().catch(() => {});
    return { ok: false, error: String(error?.stack ?? error), stderr: session?.stderr ?? "" };
  } finally {
    clearTimeout(timer);
  }
}

const print = (report, done) => process.stdout.write(`${JSON.stringify(report)}\n`, done);

if (process.argv[2] === "--serve") {
  const lines = createInterface({ input: process.stdin });
  lines.on("line", async (line) => {
    const { n, ...task } = JSON.parse(line);
    print({ n, ...(await run(task)) });
  });
  lines.on("close", () => process.exit(0));
} else {
  const report = await run(parseArguments(process.argv.slice(2)));
  // Exit only once the pipe has taken everything.
  print(report, () => process.exit(report.ok ? 0 : 1));
}
