"""Drives the official Python client through scenarios and prints what it saw.

    python client.py SCENARIO --url URL
    python client.py SCENARIO -- COMMAND ARGS...
    python client.py --serve

One JSON object on stdout, {"ok": true, "saw": {...}} or {"ok": false, "error": "..."}; exit code 0 or 1. Serving, it
takes {"n": 1, "scenario": "...", "url": "..."} or {..., "command": [...]} a line on stdin and answers each with such an
object that has the same n, in the order in which they end: starting a client takes longer than a scenario. This file judges nothing: the expected values stand in expected.rs, the same for both clients. The client is in its
default mode: it asks `server/discover` first and, refused by a server of an older revision, shakes hands.
"""

import base64
import contextlib
import json
import random
import sys
import tempfile
import traceback
import warnings

import anyio
import mcp_types as types
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

# Sampling, roots and subscriptions are on their way out of the protocol; they are what is tested here.
warnings.simplefilter("ignore")

# A driver that hangs must end by itself, well before the harness gives up on it.
DEADLINE_SECONDS = 60
# See client.mjs: server-everything lingers for a minute when a client with roots leaves early.
WITH_ROOTS = ("list_tools", "roots")


def dump(model):
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


def number(value):
    """Progress as it was on the wire: the client's types make floats of integers."""
    return int(value) if value == int(value) else value


class Inbox:
    """A list that others can wait on."""

    def __init__(self):
        self.items = []
        self.changed = anyio.Event()

    def push(self, item):
        self.items.append(item)
        self.changed.set()
        self.changed = anyio.Event()

    async def first(self, matches):
        while True:
            for item in self.items:
                if matches(item):
                    return item
            await self.changed.wait()


class Session:
    """One session: the client, what arrived unasked, and when the GET stream opened."""

    def __init__(self, legacy=False, has_roots=False):
        self.notifications = Inbox()
        self.requests = []
        self.elicitation = types.ElicitResult(action="decline")
        self.stream_open = anyio.Event()
        self.legacy = legacy
        self.has_roots = has_roots
        self.client = None

    async def on_message(self, message):
        self.notifications.push({"method": type(message).__name__} if isinstance(message, Exception) else dump(message))

    async def on_roots(self, _context):
        self.requests.append(("roots/list", None))
        return types.ListRootsResult(roots=[types.Root(uri="file:///e2e/root", name="e2e root")])

    async def on_sampling(self, _context, params):
        self.requests.append(("sampling/createMessage", dump(params)))
        return types.CreateMessageResult(
            role="assistant",
            content=types.TextContent(type="text", text="sampled by the client"),
            model="e2e-model",
            stop_reason="endTurn",
        )

    async def on_elicitation(self, _context, params):
        self.requests.append(("elicitation/create", dump(params)))
        return self.elicitation

    async def on_response(self, response):
        # Messages that belong to no request travel on the GET stream, and a server drops them while it is not open.
        # Looking at the answers is the only way to know when it is.
        if response.request.method == "GET" and response.is_success:
            self.stream_open.set()

    @contextlib.asynccontextmanager
    async def open(self, stderr, url=None, command=None):
        async with contextlib.AsyncExitStack() as stack:
            if url is not None:
                http = await stack.enter_async_context(create_mcp_http_client())
                http.event_hooks["response"] = [self.on_response]
                target = streamable_http_client(url, http_client=http)
            else:
                target = stdio_client(StdioServerParameters(command=command[0], args=command[1:]), errlog=stderr)
                self.stream_open.set()
            self.client = await stack.enter_async_context(
                Client(
                    target,
                    mode="legacy" if self.legacy else "auto",
                    client_info=types.Implementation(name="e2e-python", version="1.0.0"),
                    sampling_callback=self.on_sampling,
                    elicitation_callback=self.on_elicitation,
                    list_roots_callback=self.on_roots if self.has_roots else None,
                    message_handler=self.on_message,
                    cache=None,
                )
            )
            yield self

    async def texts(self, name, arguments, **options):
        result = await self.client.call_tool(name, arguments, **options)
        return {"isError": result.is_error or False, "texts": [getattr(part, "text", None) for part in result.content]}


async def caught(awaitable):
    try:
        await awaitable
    except MCPError as error:
        return {"code": error.error.code, "message": error.error.message}
    return None


async def abort_when_running(session, name, arguments):
    """The client's own abort, once the call is known to run."""
    seen = []

    async def stop(progress, _total, _message):
        seen.append(number(progress))
        scope.cancel("the user pressed stop")

    with anyio.CancelScope() as scope:
        await session.client.call_tool(name, arguments, progress_callback=stop)
    return {"aborted": scope.cancelled_caught, "progressBefore": seen[:1]}


async def initialize(session):
    client = session.client
    return {
        "protocolVersion": client.protocol_version,
        "serverInfo": dump(client.server_info),
        "capabilities": dump(client.server_capabilities),
        "instructions": client.instructions.split("\n")[0],
    }


async def list_tools(session):
    tools = (await session.client.list_tools()).tools
    echo = next(tool for tool in tools if tool.name == "echo")
    return {"names": [tool.name for tool in tools], "echo": dump(echo)}


async def call_tool(session):
    message = 'quote " backslash \\ slash / tab \t line \n umlaut ü, sign 𝄞, separator \u2028, nul \u0000.'
    return {
        "echo": await session.texts("echo", {"message": message}),
        "sum": await session.texts("get-sum", {"a": 0.1, "b": -12345678901}),
        "unknown": await session.texts("no-such-tool", {}),
    }


async def resources(session):
    client = session.client
    listed = await client.list_resources()
    templates = await client.list_resource_templates()
    document = (await client.read_resource("demo://resource/static/document/instructions.md")).contents[0]
    blob = (await client.read_resource("demo://resource/dynamic/blob/7")).contents[0]
    return {
        "uris": [str(resource.uri) for resource in listed.resources],
        "templates": [template.uri_template for template in templates.resource_templates],
        "document": {**dump(document), "text": document.text.split("\n")[0]},
        "blob": base64.b64decode(blob.blob).decode().split(" created at ")[0],
        "unknown": await caught(client.read_resource("demo://resource/nowhere")),
    }


async def prompts(session):
    client = session.client
    listed = (await client.list_prompts()).prompts
    plain = await client.get_prompt("simple-prompt")
    filled = await client.get_prompt("args-prompt", {"city": "Köln", "state": "NRW"})
    completed = await client.complete(
        types.PromptReference(type="ref/prompt", name="completable-prompt"), {"name": "department", "value": "S"}
    )
    return {
        "names": [prompt.name for prompt in listed],
        "plain": [dump(message) for message in plain.messages],
        "filled": [dump(message) for message in filled.messages],
        "completion": completed.completion.values,
    }


async def progress(session):
    seen = []

    async def on_progress(done, total, _message):
        seen.append([number(done), number(total)])

    arguments = {"duration": 0.4, "steps": 4}
    result = await session.texts("trigger-long-running-operation", arguments, progress_callback=on_progress)
    # A copy made when the result is in: progress that comes later would be out of order.
    return {"beforeTheResult": list(seen), "result": result}


async def sampling(session):
    result = await session.texts("trigger-sampling-request", {"prompt": "say something", "maxTokens": 17})
    text = result["texts"][0]
    fields = ("messages", "systemPrompt", "maxTokens", "temperature")
    return {
        "asked": [
            {field: params[field] for field in fields}
            for method, params in session.requests
            if method == "sampling/createMessage"
        ],
        "answered": json.loads(text[text.index("{") :]),
    }


async def elicitation(session):
    content = {"name": "Ada", "check": True, "integer": 7, "number": 2.5}
    session.elicitation = types.ElicitResult(action="accept", content=content)
    accepted = await session.texts("trigger-elicitation-request", {})
    session.elicitation = types.ElicitResult(action="decline")
    declined = await session.texts("trigger-elicitation-request", {})
    return {
        "asked": [
            {
                "message": params["message"],
                "required": params["requestedSchema"]["required"],
                "fields": list(params["requestedSchema"]["properties"]),
            }
            for method, params in session.requests
            if method == "elicitation/create"
        ],
        "accepted": accepted["texts"][:2],
        "declined": declined["texts"][:1],
    }


async def cancellation(session):
    # Far longer than the driver's deadline: waiting for its end instead of cancelling fails.
    arguments = {"duration": 300, "steps": 3000}
    stopped = await abort_when_running(session, "trigger-long-running-operation", arguments)
    return {**stopped, "next": await session.texts("echo", {"message": "still here"})}


async def list_changed(session):
    await session.stream_open.wait()
    name = f"e2e-{random.getrandbits(40)}.gz"
    uri = f"demo://resource/session/{name}"

    async def has():
        return any(str(resource.uri) == uri for resource in (await session.client.list_resources()).resources)

    before = await has()
    await session.texts("gzip-file-as-resource", {"name": name, "data": "data:text/plain,hello"})
    notification = await session.notifications.first(lambda n: n["method"] == "notifications/resources/list_changed")
    return {"before": before, "notification": notification["method"], "after": await has()}


async def updates(session):
    await session.stream_open.wait()
    uri = f"demo://resource/dynamic/text/{random.randrange(1, 2**40)}"
    await session.client.subscribe_resource(uri)
    log = await session.notifications.first(
        lambda n: n["method"] == "notifications/message" and uri in n["params"]["data"]
    )
    await session.texts("toggle-subscriber-updates", {})
    updated = await session.notifications.first(lambda n: n["method"] == "notifications/resources/updated")
    await session.texts("toggle-subscriber-updates", {})
    return {
        "log": [log["params"]["level"], log["params"]["data"].split(uri)[0]],
        "updatedIsTheSubscribed": updated["params"]["uri"] == uri,
    }


async def roots(session):
    await session.stream_open.wait()
    result = await session.texts("get-roots-list", {})
    # Asked by the tool or, if that was quicker, by the server's own timer.
    asked = any(method == "roots/list" for method, _params in session.requests)
    return {"asked": asked, "text": result["texts"][0].split("\n\nNote:")[0]}


# The two below want witness_server.mjs, which tells what server-everything keeps to itself.


async def cancel_reaches_server(session):
    stopped = await abort_when_running(session, "wait-for-cancel", {})
    return {**stopped, "witnessed": (await session.texts("cancellations", {}))["texts"]}


async def tools_list_changed(session):
    await session.stream_open.wait()

    async def names():
        return [tool.name for tool in (await session.client.list_tools()).tools]

    before = await names()
    await session.texts("announce-tool", {"name": "newcomer"})
    notification = await session.notifications.first(lambda n: n["method"] == "notifications/tools/list_changed")
    return {"before": before, "notification": notification["method"], "after": await names()}


SCENARIOS = {
    scenario.__name__: scenario
    for scenario in (
        initialize,
        list_tools,
        call_tool,
        resources,
        prompts,
        progress,
        sampling,
        elicitation,
        cancellation,
        list_changed,
        updates,
        roots,
        cancel_reaches_server,
        tools_list_changed,
    )
}
# The same with the handshake at once, as clients before this one did it.
SCENARIOS["initialize_without_discover"] = initialize



async def run(scenario, **target):
    """Runs one scenario in a session of its own; never raises."""
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as stderr:
        try:
            session = Session(legacy=scenario == "initialize_without_discover", has_roots=scenario in WITH_ROOTS)
            with anyio.fail_after(DEADLINE_SECONDS):
                async with session.open(stderr, **target):
                    report = {"ok": True, "saw": await SCENARIOS[scenario](session)}
        except Exception:
            report = {"ok": False, "error": traceback.format_exc()}
        stderr.seek(0)
        return {**report, "stderr": stderr.read()}


async def serve():
    async def answer(n, task):
        print(json.dumps({"n": n, **await run(**task)}), flush=True)

    async with anyio.create_task_group() as tasks:
        while line := await anyio.to_thread.run_sync(sys.stdin.readline):
            task = json.loads(line)
            tasks.start_soon(answer, task.pop("n"), task)


async def main(arguments):
    match arguments:
        case ["--serve"]:
            await serve()
            return 0
        case [scenario, "--url", url]:
            report = await run(scenario, url=url)
        case [scenario, "--", *command] if command:
            report = await run(scenario, command=command)
        case _:
            raise SystemExit("usage: client.py (--serve | SCENARIO (--url URL | -- COMMAND ARGS...))")
    print(json.dumps(report), flush=True)
    return 0 if report["ok"] else 1


if __name__ == "__main__":
    sys.exit(anyio.run(main, sys.argv[1:]))
