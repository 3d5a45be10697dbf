//! Finding out which era of the protocol a server speaks.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::time::timeout;

use super::{
    ServerError, ServerErrorKind,
    open::{Opener, Settings},
    session::{Failed, Session, Wire},
};
use crate::message::{Era, Message};

/// The version of the modern era that is spoken here.
const MODERN: &str = "2026-07-28";
/// The versions of the legacy era, the one that is offered last.
const LEGACY: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// What each modern request says of its sender.
pub(super) fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientInfo": client_info(),
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

fn client_info() -> Value {
    json!({"name": "mcp-interceptors", "version": env!("CARGO_PKG_VERSION")})
}

/// Opens a transport and agrees on a version.
///
/// The probe is `server/discover`. Whatever a server makes of it but a result that names our version (an error of
/// any code, silence, a broken pipe), it is then greeted in the legacy way.
pub(super) async fn negotiate(
    server: &Arc<str>,
    opener: &Opener,
    settings: &Settings,
) -> Result<Session, ServerError> {
    let within = settings.connect_timeout;
    match timeout(within, both(server, opener, settings)).await {
        Ok(session) => session,
        Err(_elapsed) => Err(ServerError::timeout(server, within)),
    }
}

async fn both(server: &Arc<str>, opener: &Opener, settings: &Settings) -> Result<Session, ServerError> {
    let mut wire = open(server, opener).await?;
    let asked = json!({"_meta": meta()});
    let probed = {
        let probe = wire.call(server, "server/discover", &asked, false);
        timeout(settings.probe_timeout, probe).await
    };
    match probed {
        Ok(Ok(answer)) if offers_ours(&answer) => {
            let capabilities = capabilities(&answer);
            return Ok(wire.agreed(server, Era::Modern, MODERN, &capabilities));
        }
        // Some programs exit when they hear what they do not know.
        Ok(Err(Failed { lost: true, .. })) => {
            wire.close().await;
            wire = open(server, opener).await?;
        }
        Ok(_) | Err(_) => {}
    }
    let greeting = json!({
        "protocolVersion": LEGACY[LEGACY.len() - 1],
        "capabilities": {},
        "clientInfo": client_info(),
    });
    let agreed = match wire.call(server, "initialize", &greeting, false).await {
        Ok(answer) => version(server, &answer).map(|version| (version, capabilities(&answer))),
        Err(failed) => Err(failed.error),
    };
    let greeted = match agreed {
        Ok(agreed) => match wire.notify(server, "notifications/initialized").await {
            Ok(()) => Ok(agreed),
            Err(failed) => Err(failed.error),
        },
        Err(error) => Err(error),
    };
    match greeted {
        Ok((version, capabilities)) => Ok(wire.agreed(server, Era::Legacy, &version, &capabilities)),
        Err(error) => {
            wire.close().await;
            Err(error)
        }
    }
}

async fn open(server: &Arc<str>, opener: &Opener) -> Result<Wire, ServerError> {
    match opener.open().await {
        Ok(opened) => Ok(Wire::new(opened)),
        Err(error) => Err(ServerError::transport(server, &error)),
    }
}

fn offers_ours(answer: &Message) -> bool {
    let Ok(answer) = answer.payload().value() else {
        return false;
    };
    let versions = answer.get("supportedVersions").and_then(Value::as_array);
    versions.is_some_and(|versions| versions.iter().any(|version| version == MODERN))
}

fn capabilities(answer: &Message) -> String {
    let capabilities = answer.payload().get("/capabilities");
    capabilities
        .ok()
        .flatten()
        .map_or_else(|| "{}".into(), |view| view.raw().to_owned())
}

fn version(server: &Arc<str>, answer: &Message) -> Result<String, ServerError> {
    let version = answer.payload().get("/protocolVersion").ok().flatten();
    let version = version.and_then(|version| version.string().map(|text| text.into_owned()));
    match version {
        Some(version) if LEGACY.contains(&&*version) => Ok(version),
        Some(version) => Err(ServerError::new(
            server,
            ServerErrorKind::Version,
            format_args!("it speaks the protocol version {version:?}, which is not known here"),
        )),
        None => Err(ServerError::malformed(
            server,
            "no protocol version in its answer to initialize",
        )),
    }
}
