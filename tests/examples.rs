//! Each example, built and run as its first line says; and that it shows what it promises.

use std::{env, process::Stdio, time::Duration};

use tokio::process::Command;

/// What the example prints. The features are those of this test, so that it builds nothing twice.
async fn output_of(example: &str) -> String {
    let mut command = Command::new(env::var("CARGO").unwrap_or_else(|_| "cargo".into()));
    command
        .args(["run", "--quiet", "--offline", "--example", example])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stdin(Stdio::null())
        .kill_on_drop(true);
    if cfg!(feature = "cli") {
        command.arg("--all-features");
    }
    let output = tokio::time::timeout(Duration::from_secs(600), command.output());
    let output = output.await.expect("it ends by itself").unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{example}: {}\n{printed}\n{errors}",
        output.status
    );
    printed
}

#[tokio::test]
async fn axum_mount() {
    let printed = output_of("axum_mount").await;
    let lines: Vec<_> = printed.lines().collect();
    assert_eq!(
        lines[0],
        r#"echo: {"content":[{"text":"echo done","type":"text"}]}"#
    );
    assert!(
        lines[1].starts_with("shell: ") && lines[1].contains(r#""isError":true"#),
        "{printed}"
    );
}

#[tokio::test]
async fn hyper_server() {
    let printed = output_of("hyper_server").await;
    assert_eq!(
        printed.trim(),
        r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}"#
    );
}

#[tokio::test]
async fn custom_layer() {
    let printed = output_of("custom_layer").await;
    let lines: Vec<_> = printed.lines().collect();
    assert_eq!(lines.len(), 4, "{printed}");
    assert_eq!(
        lines[1],
        r#"out: {"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#
    );
    assert!(lines[3].contains("no shell here"), "{printed}");
}

#[tokio::test]
async fn gateway_chain() {
    let printed = output_of("gateway_chain").await;
    assert_eq!(
        printed.lines().collect::<Vec<_>>(),
        [
            r#"the logging gateway sees the request: {"name":"echo"}"#,
            r#"the logging gateway sees the response: {"content":[]}"#,
            "echo is answered",
            "shell is blocked",
        ]
    );
}

#[tokio::test]
async fn llm_sink() {
    let printed = output_of("llm_sink").await;
    assert!(
        printed.starts_with("answer: {") && printed.ends_with("noted: 12 tokens\n"),
        "{printed}"
    );
}
