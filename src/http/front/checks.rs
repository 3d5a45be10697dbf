//! What a request must be before anything of it is read.

use http::{HeaderMap, Method, StatusCode, Uri, header, uri::Authority};

use super::{
    Settings,
    answer::{not_allowed, refusal},
    body::ResponseBody,
};
use crate::{
    http::headers::{Media, SESSION_ID, is_encoded, media},
    message::{ErrorObject, Kind, Message},
};

type Refusal = Box<http::Response<ResponseBody>>;

/// What is asked for: a message yet to be read, or one of the two kinds that carry none.
#[derive(Clone, Copy)]
pub(super) enum Asked {
    Message,
    Bare(Kind),
}

pub(super) fn check<B>(request: &http::Request<B>, settings: &Settings) -> Result<Asked, Refusal> {
    let headers = request.headers();
    if !origin_allowed(headers, settings) {
        return Err(refuse(StatusCode::FORBIDDEN, "this origin is not allowed"));
    }
    if settings.loopback_only && !host_allowed(request.uri(), headers, settings) {
        return Err(refuse(StatusCode::FORBIDDEN, "this host is not allowed"));
    }
    if settings
        .path
        .as_ref()
        .is_some_and(|path| request.uri().path() != &**path)
    {
        return Err(refuse(StatusCode::NOT_FOUND, "there is nothing at this path"));
    }
    if !session_is_clear(headers) {
        return Err(refuse(
            StatusCode::BAD_REQUEST,
            "the session id must be one visible ASCII text",
        ));
    }
    match *request.method() {
        Method::POST => {}
        Method::GET => return Ok(Asked::Bare(Kind::Listen)),
        Method::DELETE => return Ok(Asked::Bare(Kind::End)),
        _ => return Err(Box::new(not_allowed("POST, GET, DELETE"))),
    }
    if media(headers) != Media::Json || is_encoded(headers) {
        let reason = "the body must be application/json in UTF-8, not compressed";
        return Err(refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, reason));
    }
    let length = headers
        .get(header::CONTENT_LENGTH)
        .and_then(|length| length.to_str().ok())
        .and_then(|length| length.parse::<u64>().ok());
    if length.is_some_and(|length| length > settings.max_body as u64) {
        return Err(too_large(settings.max_body));
    }
    Ok(Asked::Message)
}

pub(super) fn too_large(limit: usize) -> Refusal {
    let reason = format!("the message is larger than {limit} bytes");
    refuse(StatusCode::PAYLOAD_TOO_LARGE, &reason)
}

fn refuse(status: StatusCode, reason: &str) -> Refusal {
    Box::new(refusal(
        status,
        Message::error(None, &ErrorObject::new(-32600, reason)),
    ))
}

/// Browsers always send it across origins, and nobody else has to.
fn origin_allowed(headers: &HeaderMap, settings: &Settings) -> bool {
    headers.get_all(header::ORIGIN).iter().all(|origin| {
        let Ok(origin) = origin.to_str() else { return false };
        let is_allowed = |name: &str| {
            settings
                .origins
                .iter()
                .any(|allowed| allowed.eq_ignore_ascii_case(name))
        };
        is_allowed(origin)
            || authority_of(origin)
                .is_some_and(|authority| is_loopback(authority.host()) || is_allowed(authority.host()))
    })
}

/// The authority of a page's origin; `None` for `null`, for what is none, and for an extension, which calls itself
/// what it likes.
fn authority_of(origin: &str) -> Option<Authority> {
    let uri: Uri = origin.parse().ok()?;
    let authority = uri.authority()?.clone();
    // Nothing may follow: browsers write an origin without a path.
    let is_page = matches!(uri.scheme_str(), Some("http" | "https")) && origin.ends_with(authority.as_str());
    (is_page && !authority.as_str().contains('@')).then_some(authority)
}

/// With two of them, or one that is no text, the stack could see another session than the backend.
fn session_is_clear(headers: &HeaderMap) -> bool {
    let mut ids = headers.get_all(SESSION_ID).iter();
    let Some(id) = ids.next() else { return true };
    ids.next().is_none() && id.as_bytes().iter().all(u8::is_ascii_graphic)
}

/// A page that makes its own name point here (DNS rebinding) is found out by the name it must send. Without a
/// name there is no browser behind the request.
fn host_allowed(uri: &Uri, headers: &HeaderMap, settings: &Settings) -> bool {
    let named = |host: &Authority| {
        !host.as_str().contains('@')
            && (is_loopback(host.host())
                || settings.hosts.iter().any(|allowed| {
                    allowed.eq_ignore_ascii_case(host.as_str()) || allowed.eq_ignore_ascii_case(host.host())
                }))
    };
    uri.authority().is_none_or(named)
        && headers.get_all(header::HOST).iter().all(|host| {
            let host = Authority::try_from(host.as_bytes());
            host.is_ok_and(|host| named(&host))
        })
}

fn is_loopback(host: &str) -> bool {
    matches!(host, "127.0.0.1" | "[::1]") || host.eq_ignore_ascii_case("localhost")
}

#[cfg(test)]
mod tests {
    use super::super::StreamableHttp;
    use super::*;

    fn status(front: &StreamableHttp<()>, request: http::request::Builder) -> StatusCode {
        let request = request.body(()).unwrap();
        match check(&request, &front.settings) {
            Ok(_) => StatusCode::OK,
            Err(response) => response.status(),
        }
    }

    fn post() -> http::request::Builder {
        http::Request::post("/mcp").header("content-type", "application/json")
    }

    /// Case 90.
    #[test]
    fn foreign_origins_are_refused() {
        let front = StreamableHttp::new(()).allow_origin("https://app.example.com");
        for (origin, expected) in [
            ("http://localhost:5173", StatusCode::OK),
            ("http://127.0.0.1", StatusCode::OK),
            ("https://[::1]:1", StatusCode::OK),
            ("https://app.example.com", StatusCode::OK),
            ("http://app.example.com", StatusCode::FORBIDDEN),
            ("http://evil.com", StatusCode::FORBIDDEN),
            ("http://localhost.evil.com", StatusCode::FORBIDDEN),
            ("http://127.0.0.1.evil.com", StatusCode::FORBIDDEN),
            ("http://localhost@evil.com", StatusCode::FORBIDDEN),
            ("http://evil.com@localhost", StatusCode::FORBIDDEN),
            ("null", StatusCode::FORBIDDEN),
            ("localhost", StatusCode::FORBIDDEN),
            ("chrome-extension://localhost", StatusCode::FORBIDDEN),
            ("http://localhost/", StatusCode::FORBIDDEN),
            ("http://evil.com/localhost", StatusCode::FORBIDDEN),
            ("", StatusCode::FORBIDDEN),
        ] {
            assert_eq!(
                status(&front, post().header("origin", origin)),
                expected,
                "{origin}"
            );
        }
        let two = post()
            .header("origin", "http://localhost")
            .header("origin", "http://evil.com");
        assert_eq!(status(&front, two), StatusCode::FORBIDDEN);
        let get = http::Request::get("/mcp").header("origin", "http://evil.com");
        assert_eq!(status(&front, get), StatusCode::FORBIDDEN);
        let open = front.loopback_only(false);
        let foreign = post().header("origin", "http://evil.com");
        assert_eq!(status(&open, foreign), StatusCode::FORBIDDEN);
    }

    /// Case 90.
    #[test]
    fn foreign_hosts_are_refused() {
        let front = StreamableHttp::new(())
            .allow_host("mcp.example.com")
            .allow_host("one.example.com:8443");
        for (host, expected) in [
            ("localhost:8080", StatusCode::OK),
            ("LOCALHOST", StatusCode::OK),
            ("127.0.0.1:1", StatusCode::OK),
            ("[::1]:8080", StatusCode::OK),
            ("mcp.example.com:9", StatusCode::OK),
            ("one.example.com:8443", StatusCode::OK),
            ("one.example.com", StatusCode::FORBIDDEN),
            ("evil.com", StatusCode::FORBIDDEN),
            ("localhost.evil.com", StatusCode::FORBIDDEN),
            ("a@localhost", StatusCode::FORBIDDEN),
            ("", StatusCode::FORBIDDEN),
        ] {
            assert_eq!(status(&front, post().header("host", host)), expected, "{host}");
        }
        let absolute = http::Request::get("http://evil.com/mcp").header("host", "localhost");
        assert_eq!(status(&front, absolute), StatusCode::FORBIDDEN);
        let open = front.loopback_only(false);
        assert_eq!(status(&open, post().header("host", "evil.com")), StatusCode::OK);
    }

    #[test]
    fn a_session_id_must_be_clear() {
        let front = StreamableHttp::new(());
        let post = || post().header("mcp-session-id", "a");
        assert_eq!(status(&front, post()), StatusCode::OK);
        let two = post().header("mcp-session-id", "b");
        assert_eq!(status(&front, two), StatusCode::BAD_REQUEST);
        let odd = http::Request::get("/").header("mcp-session-id", &b"a\xff"[..]);
        assert_eq!(status(&front, odd), StatusCode::BAD_REQUEST);
    }

    #[test]
    fn other_paths_are_not_found() {
        let front = StreamableHttp::new(());
        let get = |path: &str| http::Request::get(path);
        assert_eq!(status(&front, get("/any")), StatusCode::OK);
        let front = front.only_path("/mcp");
        assert_eq!(status(&front, get("/mcp?a=b")), StatusCode::OK);
        for path in ["/", "/mcp/", "/mcp/x", "/MCP", "/%6dcp"] {
            assert_eq!(status(&front, get(path)), StatusCode::NOT_FOUND, "{path}");
        }
    }

    #[test]
    fn method_and_media_type_are_checked() {
        let front = StreamableHttp::new(());
        for method in ["PUT", "HEAD", "OPTIONS", "PATCH"] {
            let request = http::Request::builder().method(method).uri("/mcp");
            assert_eq!(
                status(&front, request),
                StatusCode::METHOD_NOT_ALLOWED,
                "{method}"
            );
        }
        let text = http::Request::post("/mcp").header("content-type", "text/plain");
        assert_eq!(status(&front, text), StatusCode::UNSUPPORTED_MEDIA_TYPE);
        assert_eq!(
            status(&front, http::Request::post("/mcp")),
            StatusCode::UNSUPPORTED_MEDIA_TYPE
        );
        let zipped = post().header("content-encoding", "gzip");
        assert_eq!(status(&front, zipped), StatusCode::UNSUPPORTED_MEDIA_TYPE);
        let large = post().header("content-length", "600000000");
        assert_eq!(status(&front, large), StatusCode::PAYLOAD_TOO_LARGE);
    }
}
