//! Both generations of the protocol.

use http::StatusCode;

use super::*;
use crate::message::{Exchange, HttpContext};

/// A request over HTTP with its headers; `None` for no HTTP.
fn message(json: &str, headers: Option<&[(&str, &str)]>) -> Message {
    let message = Message::parse(json.to_owned()).unwrap();
    let Some(headers) = headers else { return message };
    let mut request = http::Request::post("/mcp");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let parts = request.body(()).unwrap().into_parts().0;
    message.with_exchange(std::sync::Arc::new(
        Exchange::new().with_http(HttpContext::new(parts)),
    ))
}

async fn answer(json: &str, headers: Option<&[(&str, &str)]>) -> (StatusCode, String) {
    let reply = six().oneshot(message(json, headers)).await.unwrap();
    let status = reply.head().map_or(StatusCode::OK, |head| head.status);
    let answer = reply.into_one(drop).await.unwrap().unwrap();
    (status, answer.as_json().to_owned())
}

fn modern(method: &str, version: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{"_meta":{{"io.modelcontextprotocol/protocolVersion":"{version}","io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
    )
}

const CAPABILITIES: &str = r#""capabilities":{"extensions":{"io.modelcontextprotocol/interceptors":{"supportedEvents":["*","llm/completion","prompts/*","tools/call"]}}}"#;

#[tokio::test]
async fn py_034_a_modern_client_discovers() {
    let (status, discovered) = answer(&modern("server/discover", "2026-07-28"), None).await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(
        discovered,
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"result":{{"resultType":"complete","supportedVersions":["2026-07-28"],{CAPABILITIES},"ttlMs":3600000,"cacheScope":"public","_meta":{{"io.modelcontextprotocol/serverInfo":{{"name":"test-server","version":"1.2.3"}}}}}}}}"#
        )
    );
}

#[tokio::test]
async fn py_035_a_legacy_client_shakes_hands() {
    for (wanted, served) in [
        ("2025-11-25", "2025-11-25"),
        ("2024-11-05", "2024-11-05"),
        ("2026-07-28", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ] {
        let json = format!(
            r#"{{"jsonrpc":"2.0","id":"i","method":"initialize","params":{{"protocolVersion":"{wanted}","capabilities":{{}},"clientInfo":{{"name":"c","version":"0"}}}}}}"#
        );
        let (_, initialized) = answer(&json, None).await;
        assert_eq!(
            initialized,
            format!(
                r#"{{"jsonrpc":"2.0","id":"i","result":{{"protocolVersion":"{served}",{CAPABILITIES},"serverInfo":{{"name":"test-server","version":"1.2.3"}}}}}}"#
            )
        );
    }
    let (_, refused) = answer(
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#,
        None,
    )
    .await;
    assert!(refused.contains("-32602"), "{refused}");
}

#[tokio::test]
async fn py_036_py_040_the_methods_work_in_both_eras() {
    let http = [
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "interceptors/list"),
    ];
    for headers in [None, Some(&http[..])] {
        let (status, listed) = answer(&modern("interceptors/list", "2026-07-28"), headers).await;
        assert_eq!(status, StatusCode::OK);
        assert!(listed.ends_with(r#"],"resultType":"complete"}}"#), "{listed}");
    }
    let plain = r#"{"jsonrpc":"2.0","id":1,"method":"interceptors/list"}"#;
    for headers in [
        None,
        Some(&[][..]),
        Some(&[("mcp-protocol-version", "2025-06-18")]),
    ] {
        let (status, listed) = answer(plain, headers).await;
        assert_eq!(status, StatusCode::OK);
        assert!(!listed.contains("resultType"), "{listed}");
    }
    let escaped = r#"{"jsonrpc":"2.0","id":1,"method":"interceptors\/list"}"#;
    assert_eq!(answer(escaped, None).await, answer(plain, None).await);
    let plural = r#"{"jsonrpc":"2.0","id":1,"method":"interceptors/invoke","params":{}}"#;
    assert!(answer(plural, None).await.1.contains("-32601"));
}

#[tokio::test]
async fn a_modern_request_must_be_whole() {
    let refused = |status: StatusCode, code: i64| (status, code);
    let bad = StatusCode::BAD_REQUEST;
    let ok = modern("interceptors/list", "2026-07-28");
    let no_capabilities = r#"{"jsonrpc":"2.0","id":1,"method":"interceptors/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#;
    let no_meta = r#"{"jsonrpc":"2.0","id":1,"method":"interceptors/list"}"#;
    let bare_discover = r#"{"jsonrpc":"2.0","id":1,"method":"server/discover"}"#;
    let version = ("mcp-protocol-version", "2026-07-28");
    let method = ("mcp-method", "interceptors/list");
    for (json, headers, expected) in [
        (no_capabilities, None, refused(bad, -32602)),
        (bare_discover, None, refused(bad, -32602)),
        (no_meta, Some(&[version][..]), refused(bad, -32602)),
        (&*ok, Some(&[][..]), refused(bad, -32020)),
        (&*ok, Some(&[version][..]), refused(bad, -32020)),
        (
            &*ok,
            Some(&[("mcp-protocol-version", "2025-11-25"), method][..]),
            refused(bad, -32020),
        ),
        (
            &*ok,
            Some(&[version, ("mcp-method", "tools/list")][..]),
            refused(bad, -32020),
        ),
        (
            &*modern("tools/list", "2026-07-28"),
            None,
            refused(StatusCode::NOT_FOUND, -32601),
        ),
        (
            &*modern("initialize", "2026-07-28"),
            None,
            refused(StatusCode::NOT_FOUND, -32601),
        ),
        (
            &*modern("ping", "2026-07-28"),
            None,
            refused(StatusCode::NOT_FOUND, -32601),
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#,
            None,
            refused(StatusCode::OK, -32601),
        ),
    ] {
        let (status, text) = answer(json, headers).await;
        let error: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            (status, error["error"]["code"].as_i64().unwrap()),
            expected,
            "{json} {headers:?}"
        );
    }
}

#[tokio::test]
async fn an_unsupported_version_is_told_what_is() {
    let (status, text) = answer(&modern("interceptors/list", "2099-01-01"), None).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert_eq!(
        text,
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"Unsupported protocol version","data":{"requested":"2099-01-01","supported":["2026-07-28"]}}}"#
    );
}

#[tokio::test]
async fn what_is_no_request_is_taken() {
    for json in [
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","id":4,"result":{}}"#,
    ] {
        let reply = six().oneshot(message(json, None)).await.unwrap();
        assert!(matches!(reply.body, crate::reply::Body::Accepted), "{json}");
    }
    for message in [Message::listen(), Message::end()] {
        let reply = six().oneshot(message).await.unwrap();
        assert!(matches!(reply.body, crate::reply::Body::Accepted));
    }
}
