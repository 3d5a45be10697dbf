//! What must not compile, and that the compiler says why in words that help.
//!
//! All cases are built at once, as the programs of a package of their own. Only the readable parts of what the compiler
//! says are compared: the rest differs from release to release.

use std::{collections::BTreeMap, fs, path::Path, process::Command};

use serde_json::Value;

/// A case, and what must be said about it, how often at least.
const CASES: [(&str, &[(&str, usize)]); 7] = [
    (
        "not_clone",
        &[
            ("the trait bound `Mine: Clone` is not satisfied", 11),
            ("consider annotating `Mine` with `#[derive(Clone)]`", 11),
        ],
    ),
    (
        "rate_limit",
        &[
            ("is not an MCP service", 1),
            ("is `Clone + Send + Sync + 'static`", 1),
            ("the trait `Clone` is not implemented for `RateLimit<", 1),
            ("doesn't satisfy `RateLimit<ServiceFn<_>>: Clone`", 1),
        ],
    ),
    (
        "wrong_error",
        &[
            ("the trait bound `Odd: std::error::Error` is not satisfied", 2),
            ("required by a bound in `check`", 2),
        ],
    ),
    (
        "wrong_reply",
        &[
            ("expected `Result<Reply, _>`, found `Result<String, ", 1),
            ("required by a bound in `check`", 1),
        ],
    ),
    (
        "not_send",
        &[
            ("future returned by `backend` is not `Send`", 1),
            ("has type `Rc<i32>` which is not `Send`", 1),
            ("await occurs here", 1),
        ],
    ),
    (
        "middleware",
        &[
            ("found `Result<Message, ", 1),
            ("required by this bound in `from_fn`", 1),
        ],
    ),
    (
        "handler",
        &[
            ("is no function that can be an interceptor", 1),
            ("take only arguments that implement `FromInvocation`", 1),
        ],
    ),
];

#[test]
fn what_must_not_compile_does_not_and_the_compiler_says_why() {
    let errors = check();
    for (case, expected) in CASES {
        let said = errors.get(case).map(String::as_str).unwrap_or_default();
        assert!(!said.is_empty(), "{case} compiles");
        for (text, times) in expected {
            let found = said.matches(text).count();
            assert!(
                found >= *times,
                "{case}: {text:?} is said {found} times, not {times}\n{said}"
            );
        }
    }
}

/// What the compiler says about each case.
fn check() -> BTreeMap<String, String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR"));
    let package = Path::new(env!("CARGO_TARGET_TMPDIR")).join("no_compile");
    fs::create_dir_all(&package).unwrap();
    let mut manifest = format!(
        "[package]\nname = \"no-compile\"\nedition = \"2024\"\n[workspace]\n[dependencies]\n\
         mcp-interceptors = {{ path = {source:?}, default-features = false }}\n\
         tower = {{ version = \"0.5\", features = [\"limit\", \"util\"] }}\n\
         tokio = {{ version = \"1\", features = [\"rt\"] }}\n"
    );
    for (case, _) in CASES {
        let path = source.join("tests/no_compile/cases").join(format!("{case}.rs"));
        manifest.push_str(&format!("[[bin]]\nname = {case:?}\npath = {path:?}\n"));
    }
    fs::write(package.join("Cargo.toml"), manifest).unwrap();
    fs::copy(source.join("Cargo.lock"), package.join("Cargo.lock")).unwrap();
    let output = Command::new(env!("CARGO"))
        .args([
            "check",
            "--offline",
            "--keep-going",
            "--quiet",
            "--message-format",
            "json",
        ])
        .current_dir(&package)
        .env("CARGO_TARGET_DIR", package.join("target"))
        .env_remove("RUSTFLAGS")
        .output()
        .unwrap();
    let mut errors = BTreeMap::<String, String>::new();
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        if line["reason"] != "compiler-message" || line["message"]["level"] != "error" {
            continue;
        }
        let case = line["target"]["name"].as_str().unwrap().to_owned();
        let said = line["message"]["rendered"].as_str().unwrap();
        errors.entry(case).or_default().push_str(said);
    }
    assert!(!errors.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    errors
}
