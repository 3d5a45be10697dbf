//! What comes through the proxy is, byte for byte, what the server wrote.

use crate::wire::Wire;
use crate::world::{Route, Server, World};

/// Lists and documents: nested objects, key order, escapes, text outside ASCII, and both kinds of ids.
const REQUESTS: [&str; 5] = [
    r#"{"jsonrpc":"2.0","id":7,"method":"tools/list"}"#,
    r#"{"jsonrpc":"2.0","id":"list-1","method":"tools/list","params":{}}"#,
    r#"{"jsonrpc":"2.0","id":0,"method":"prompts/list"}"#,
    r#"{"jsonrpc":"2.0","id":"r","method":"resources/read","params":{"uri":"demo://resource/static/document/features.md"}}"#,
    r#"{"jsonrpc":"2.0","id":-1,"method":"tools/call","params":{"name":"echo","arguments":{"message":"\u00e9 \ud834\udd1e / \u2028"}}}"#,
];

fn answers(world: &World, route: Route) -> Result<Vec<String>, String> {
    let target = world.target(route, Server::Everything)?;
    let mut wire = Wire::open(&target)?;
    wire.handshake()?;
    let answers: Result<Vec<_>, _> = REQUESTS.iter().map(|request| wire.request(request)).collect();
    let answers = answers.map_err(|e| format!("{e}\nthe proxy logged:\n{}", target.proxy_log()))?;
    wire.close()?;
    target.close()?;
    Ok(answers)
}

/// The same requests directly and through the proxy. The reference for a server on stdio is the line it writes.
pub(crate) fn same_as_direct(world: &World, route: Route) -> Result<(), String> {
    let direct = match route {
        Route::HttpToCommand | Route::StdioToCommand => Route::DirectStdio,
        _ => Route::DirectHttp,
    };
    let expected = answers(world, direct)?;
    // The reference is worth something only if it is the real list.
    if !expected[0].contains(r#""name":"trigger-long-running-operation""#) {
        return Err(format!("not the list of tools: {}", expected[0]));
    }
    let answers = answers(world, route)?;
    for (request, (answer, expected)) in REQUESTS.iter().zip(answers.iter().zip(&expected)) {
        if answer != expected {
            let at = answer
                .bytes()
                .zip(expected.bytes())
                .take_while(|(a, b)| a == b)
                .count();
            return Err(format!(
                "{request}\ndiffers at byte {at}:\n{answer}\ndirectly it is\n{expected}"
            ));
        }
    }
    Ok(())
}
