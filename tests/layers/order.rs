//! The eight rows of order: four messages on two sides, in one layer and in three.

use mcp_interceptors::{
    chain::Side,
    message::{Asked, Era, Id, Message},
    reply::Reply,
};
use tower::ServiceExt;

use crate::{
    scripted::{backend, three},
    support::{BUILDS, Build, CALL, Log, SAMPLING, answer, call, drain, many, sampling, stack},
};

/// The letters of the log's entries about one event and phase, sinks included.
///
/// A sink is told off the path, so where it stands in the log says nothing by itself; see `deferred` for when
/// its event is let go. Here the order of mutator, validator and backend is exact, and that the sink ran.
fn steps(log: &[String], event: &str, phase: &str) -> (String, bool) {
    let suffix = format!(" {event} {phase}");
    let letters: String = log
        .iter()
        .filter(|entry| entry.starts_with("backend") || entry.ends_with(&suffix))
        .map(|entry| &entry[..1])
        .collect();
    (letters.replace('S', ""), letters.contains('S'))
}

/// A client's answer to the server's request, as the correlating layer marks it.
fn client_answer() -> Message {
    let answer = Message::response(&Id::from(900), &serde_json::json!({"role": "user"})).unwrap();
    answer.with_in_reply_to(Asked::new(SAMPLING, Some(Id::from(900)), Era::Legacy).into())
}

#[derive(Clone, Copy)]
enum Row {
    Request,
    Response,
    ServerRequest,
    ItsAnswer,
}

async fn log_of(build: Build, side: Side, row: Row) -> Vec<String> {
    let log = Log::default();
    let chain = three(&log, &[CALL, SAMPLING]);
    let backend = backend(&log, move |_| match row {
        Row::Request | Row::Response => Reply::one(answer()),
        Row::ServerRequest => many([sampling(), answer()]),
        Row::ItsAnswer => Reply::accepted(),
    });
    let service = stack(build, side, &chain, backend);
    let message = match row {
        Row::ItsAnswer => client_answer(),
        Row::Request | Row::Response | Row::ServerRequest => call(),
    };
    let reply = service.oneshot(message).await.unwrap();
    drain(reply).await;
    chain.flush().await;
    log.take()
}

async fn check(row: Row, event: &str, phase: &str, client: &str, server: &str) {
    for (side, expected) in [(Side::Client, client), (Side::Server, server)] {
        for build in BUILDS {
            let log = log_of(build, side, row).await;
            let (order, sunk) = steps(&log, event, phase);
            assert_eq!(order, expected, "{build:?} {side:?}: {log:?}");
            assert!(sunk, "{build:?} {side:?}: {log:?}");
        }
    }
}

#[tokio::test]
async fn a_request_is_mutated_first_by_who_sends_it_and_validated_first_by_who_receives_it() {
    check(Row::Request, CALL, "request", "MVb", "VMb").await;
}

#[tokio::test]
async fn a_response_is_validated_first_by_who_receives_it_and_mutated_first_by_who_sends_it() {
    check(Row::Response, CALL, "response", "bVM", "bMV").await;
}

#[tokio::test]
async fn a_servers_request_flows_the_other_way() {
    check(Row::ServerRequest, SAMPLING, "request", "bVM", "bMV").await;
}

#[tokio::test]
async fn the_answer_to_a_servers_request_flows_inward() {
    check(Row::ItsAnswer, SAMPLING, "response", "MVb", "VMb").await;
}
