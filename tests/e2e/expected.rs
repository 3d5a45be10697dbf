//! What a client is to see of the reference server, whichever way it comes. The same for both clients.

use serde_json::{Value, json};

use crate::sdk::Sdk;

/// server-everything or the witness, by what a scenario needs.
pub(crate) const SCENARIOS: [&str; 14] = [
    "initialize",
    "list_tools",
    "call_tool",
    "resources",
    "prompts",
    "progress",
    "sampling",
    "elicitation",
    "cancellation",
    "list_changed",
    "updates",
    "roots",
    "cancel_reaches_server",
    "tools_list_changed",
];

pub(crate) fn seen(scenario: &str, sdk: Sdk) -> Value {
    match scenario {
        "initialize" | "initialize_without_discover" => initialize(),
        "list_tools" => list_tools(),
        "call_tool" => call_tool(),
        "resources" => resources(),
        "prompts" => prompts(),
        "progress" => json!({
            "beforeTheResult": [[1, 4], [2, 4], [3, 4], [4, 4]],
            "result": text("Long running operation completed. Duration: 0.4 seconds, Steps: 4."),
        }),
        "sampling" => sampling(),
        "elicitation" => elicitation(),
        "cancellation" => json!({"aborted": true, "progressBefore": [1], "next": text("Echo: still here")}),
        "list_changed" => {
            json!({"before": false, "notification": "notifications/resources/list_changed", "after": true})
        }
        "updates" => json!({
            "log": ["info", "Received Subscribe Resource request for URI: "],
            "updatedIsTheSubscribed": true,
        }),
        "roots" => json!({
            "asked": true,
            "text": "Current MCP Roots (1 total):\n\n1. e2e root\n   URI: file:///e2e/root",
        }),
        "cancel_reaches_server" => {
            // Each client gives its own reason, and the server is to see it.
            let reason = match sdk {
                Sdk::TypeScript => "the user pressed stop",
                Sdk::Python => "caller cancelled",
            };
            let witnessed = [format!("wait-for-cancel: {reason}")];
            json!({"aborted": true, "progressBefore": [1], "witnessed": witnessed})
        }
        "tools_list_changed" => json!({
            "before": ["wait-for-cancel", "cancellations", "announce-tool"],
            "notification": "notifications/tools/list_changed",
            "after": ["wait-for-cancel", "cancellations", "announce-tool", "newcomer"],
        }),
        unknown => Value::from(format!("nobody knows what {unknown} is to see")),
    }
}

fn text(text: &str) -> Value {
    json!({"isError": false, "texts": [text]})
}

fn initialize() -> Value {
    json!({
        "protocolVersion": "2025-11-25",
        "serverInfo": {
            "name": "mcp-servers/everything",
            "title": "Everything Reference Server",
            "version": "2.0.0",
        },
        "capabilities": {
            "logging": {},
            "completions": {},
            "prompts": {"listChanged": true},
            "resources": {"subscribe": true, "listChanged": true},
            "tools": {"listChanged": true},
            "tasks": {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}},
        },
        "instructions": "# Everything Server – Server Instructions",
    })
}

fn list_tools() -> Value {
    json!({
        "names": [
            "echo",
            "get-annotated-message",
            "get-env",
            "get-resource-links",
            "get-resource-reference",
            "get-structured-content",
            "get-sum",
            "get-tiny-image",
            "gzip-file-as-resource",
            "toggle-simulated-logging",
            "toggle-subscriber-updates",
            "trigger-long-running-operation",
            // From here on those that it offers because of what the client can do.
            "get-roots-list",
            "trigger-elicitation-request",
            "trigger-url-elicitation",
            "trigger-sampling-request",
            "simulate-research-query",
        ],
        "echo": {
            "name": "echo",
            "title": "Echo Tool",
            "description": "Echoes back the input string",
            "inputSchema": {
                "$schema": "http://json-schema.org/draft-07/schema#",
                "type": "object",
                "properties": {"message": {"type": "string", "description": "Message to echo"}},
                "required": ["message"],
            },
            "annotations": {
                "readOnlyHint": true,
                "destructiveHint": false,
                "idempotentHint": true,
                "openWorldHint": false,
            },
            "execution": {"taskSupport": "forbidden"},
        },
    })
}

fn call_tool() -> Value {
    let message =
        "quote \" backslash \\ slash / tab \t line \n umlaut ü, sign 𝄞, separator \u{2028}, nul \0.";
    json!({
        "echo": text(&format!("Echo: {message}")),
        "sum": text("The sum of 0.1 and -12345678901 is -12345678900.9."),
        "unknown": {"isError": true, "texts": ["MCP error -32602: Tool no-such-tool not found"]},
    })
}

fn resources() -> Value {
    let documents = [
        "architecture",
        "extension",
        "features",
        "how-it-works",
        "instructions",
        "startup",
        "structure",
    ];
    json!({
        "uris": documents.map(|name| format!("demo://resource/static/document/{name}.md")),
        "templates": ["demo://resource/dynamic/text/{resourceId}", "demo://resource/dynamic/blob/{resourceId}"],
        "document": {
            "uri": "demo://resource/static/document/instructions.md",
            "mimeType": "text/markdown",
            "text": "# Everything Server – Server Instructions",
        },
        "blob": "Resource 7: This is a base64 blob",
        "unknown": {"code": -32602, "message": "MCP error -32602: Resource demo://resource/nowhere not found"},
    })
}

fn prompts() -> Value {
    let said = |text: &str| json!([{"role": "user", "content": {"type": "text", "text": text}}]);
    json!({
        "names": ["simple-prompt", "args-prompt", "completable-prompt", "resource-prompt"],
        "plain": said("This is a simple prompt without arguments."),
        "filled": said("What's weather in Köln, NRW?"),
        "completion": ["Sales", "Support"],
    })
}

fn sampling() -> Value {
    let prompt = "Resource trigger-sampling-request context: say something";
    json!({
        "asked": [{
            "messages": [{"role": "user", "content": {"type": "text", "text": prompt}}],
            "systemPrompt": "You are a helpful test server.",
            "maxTokens": 17,
            "temperature": 0.7,
        }],
        "answered": {
            "role": "assistant",
            "content": {"type": "text", "text": "sampled by the client"},
            "model": "e2e-model",
            "stopReason": "endTurn",
        },
    })
}

fn elicitation() -> Value {
    let asked = json!({
        "message": "Please provide inputs for the following fields:",
        "required": ["name"],
        "fields": [
            "name",
            "check",
            "firstLine",
            "email",
            "homepage",
            "birthdate",
            "integer",
            "number",
            "untitledSingleSelectEnum",
            "untitledMultipleSelectEnum",
            "titledSingleSelectEnum",
            "titledMultipleSelectEnum",
            "legacyTitledEnum",
        ],
    });
    json!({
        "asked": [asked, asked],
        "accepted": [
            "✅ User provided the requested information!",
            "User inputs:\n- Name: Ada\n- Agreed to terms: true\n- Favorite Integer: 7\n- Favorite Number: 2.5",
        ],
        "declined": ["❌ User declined to provide the requested information."],
    })
}
