//! Exact bytes, over pipes and over HTTP.

use super::*;

/// Times in results are the only bytes that vary.
fn without_duration(answer: &str) -> String {
    match answer.split_once(r#""durationMs":"#) {
        Some((before, after)) => {
            let rest = after.trim_start_matches(|c: char| c.is_ascii_digit());
            format!("{before}{}", &rest[1..])
        }
        None => answer.to_owned(),
    }
}

const EXCHANGES: [(&str, &str); 4] = [
    (
        r#"{"jsonrpc":"2.0","id":1.0,"method":"interceptors/list","params":{"event":"prompts/get"}}"#,
        r#"{"jsonrpc":"2.0","id":1.0,"result":{"interceptors":[{"name":"audit-log","type":"sink","hooks":[{"events":["*"],"phase":"request"},{"events":["*"],"phase":"response"}],"mode":"audit"},{"name":"confused","type":"validation","hooks":[{"events":["prompts/*"],"phase":"request"}]}]}}"#,
    ),
    (
        r#"{"jsonrpc":"2.0","id":"x","method":"interceptor/invoke","params":{"name":"redactor","event":"tools/call","phase":"request","payload":{"n":1.50}}}"#,
        r#"{"jsonrpc":"2.0","id":"x","result":{"type":"mutation","interceptor":"redactor","phase":"request","modified":true,"payload":{"n":1.50,"redacted":true},"info":{"config":null}}}"#,
    ),
    (
        r#"{"jsonrpc":"2.0","id":3,"method":"interceptor/invoke","params":{"name":"nobody","event":"tools/call","phase":"request","payload":{}}}"#,
        r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"there is no interceptor \"nobody\"","data":{"kind":"unknown_interceptor"}}}"#,
    ),
    (
        r#"{"jsonrpc":"2.0","id":4,"method":"interceptor/invoke","params":{"name":"crash","event":"tools/call","phase":"request","payload":{}}}"#,
        r#"{"jsonrpc":"2.0","id":4,"error":{"code":-32603,"message":"the interceptor \"crash\" failed","data":{"interceptor":"crash","kind":"failed","phase":"request","reason":"error"}}}"#,
    ),
];

#[cfg(feature = "stdio")]
#[tokio::test]
async fn over_pipes() {
    use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
    let (ours, theirs) = tokio::io::duplex(64 * 1024);
    let (reader, writer) = tokio::io::split(theirs);
    let serving = tokio::spawn(crate::stdio::serve_on(
        reader,
        writer,
        six(),
        std::future::pending(),
    ));
    let (reader, mut writer) = tokio::io::split(ours);
    let mut lines = BufReader::new(reader).lines();
    for (asked, expected) in EXCHANGES {
        writer.write_all(format!("{asked}\n").as_bytes()).await.unwrap();
        let answer = lines.next_line().await.unwrap().unwrap();
        assert_eq!(without_duration(&answer), expected);
    }
    drop((lines, writer));
    serving.await.unwrap().unwrap();
}

#[cfg(feature = "http")]
#[tokio::test]
async fn over_http() {
    use http_body_util::{BodyExt, Full};
    let front = crate::http::StreamableHttp::new(six());
    let post = |body: &str, headers: &[(&str, &str)]| {
        let mut request = http::Request::post("/mcp").header("content-type", "application/json");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request
            .body(Full::new(bytes::Bytes::from(body.to_owned())))
            .unwrap();
        let front = front.clone();
        async move {
            let response = front.oneshot(request).await.unwrap();
            let status = response.status().as_u16();
            let body = response.into_body().collect().await.unwrap().to_bytes();
            (status, String::from_utf8(body.to_vec()).unwrap())
        }
    };
    for (asked, expected) in EXCHANGES {
        let (status, answer) = post(asked, &[]).await;
        assert_eq!((status, &*without_duration(&answer)), (200, expected));
    }
    let modern = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    let headers = [
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/list"),
    ];
    let expected = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}"#;
    assert_eq!(post(modern, &headers).await, (404, expected.to_owned()));
    assert_eq!(post(modern, &[]).await.0, 400);
    let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    assert_eq!(post(initialized, &[]).await, (202, String::new()));
}
