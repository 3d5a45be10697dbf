//! Headers: which travel from end to end, and those of MCP.

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, header};

pub(crate) const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
pub(crate) const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
pub(crate) const METHOD: HeaderName = HeaderName::from_static("mcp-method");
pub(crate) const NAME: HeaderName = HeaderName::from_static("mcp-name");
pub(crate) const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
const ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

pub(crate) const JSON: HeaderValue = HeaderValue::from_static("application/json");
pub(crate) const EVENT_STREAM: HeaderValue = HeaderValue::from_static("text/event-stream");
pub(crate) const JSON_OR_EVENT_STREAM: HeaderValue =
    HeaderValue::from_static("application/json, text/event-stream");

/// Those that belong to one connection (RFC 9110, 7.6.1), and the length, which whoever writes the body knows.
const NOT_FORWARDED: [HeaderName; 10] = [
    header::CONNECTION,
    header::CONTENT_LENGTH,
    HeaderName::from_static("keep-alive"),
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    HeaderName::from_static("proxy-connection"),
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// The headers less those that belong to the connection, in their order.
pub(crate) fn end_to_end(headers: &HeaderMap) -> HeaderMap {
    let mut kept = headers.clone();
    remove_hop_by_hop(&mut kept);
    kept
}

pub(crate) fn remove_hop_by_hop(headers: &mut HeaderMap) {
    if headers.contains_key(header::CONNECTION) {
        let named: Vec<_> = headers
            .get_all(header::CONNECTION)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(','))
            .filter_map(|name| HeaderName::from_bytes(name.trim().as_bytes()).ok())
            .collect();
        for name in named {
            headers.remove(name);
        }
    }
    for name in NOT_FORWARDED {
        headers.remove(name);
    }
}

/// What every stream of events says to the intermediaries after it: hand each event on at once.
pub(crate) fn unbuffered(headers: &mut HeaderMap) {
    headers.insert(
        header::CACHE_CONTROL,
        HeaderValue::from_static("no-cache, no-transform"),
    );
    headers.insert(ACCEL_BUFFERING, HeaderValue::from_static("no"));
}

/// What kind of body the headers announce.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Media {
    Json,
    EventStream,
    Other,
}

pub(crate) fn media(headers: &HeaderMap) -> Media {
    let mut values = headers.get_all(header::CONTENT_TYPE).iter();
    let (Some(value), None) = (values.next(), values.next()) else {
        return Media::Other;
    };
    let Ok(value) = value.to_str() else {
        return Media::Other;
    };
    let mut parts = value.split(';').map(str::trim);
    let essence = parts.next().unwrap_or_default();
    // What is not in UTF-8 could be read in two ways.
    let readable = parts.all(|part| {
        part.split_once('=').is_none_or(|(name, charset)| {
            let charset = charset.trim().trim_matches('"');
            !name.trim().eq_ignore_ascii_case("charset")
                || ["utf-8", "utf8", "us-ascii"]
                    .iter()
                    .any(|known| charset.eq_ignore_ascii_case(known))
        })
    });
    if !readable {
        Media::Other
    } else if essence.eq_ignore_ascii_case("application/json") {
        Media::Json
    } else if essence.eq_ignore_ascii_case("text/event-stream") {
        Media::EventStream
    } else {
        Media::Other
    }
}

/// Whether the body is compressed, so that nobody here can read it.
pub(crate) fn is_encoded(headers: &HeaderMap) -> bool {
    headers
        .get_all(header::CONTENT_ENCODING)
        .iter()
        .any(|value| !value.as_bytes().trim_ascii().eq_ignore_ascii_case(b"identity"))
}

/// The value of `Mcp-Name` or an `Mcp-Param-*`: as it is where a header can carry it, else in Base64 between
/// marks (2026-07-28, Streamable HTTP).
pub(crate) fn encoded(text: &str) -> HeaderValue {
    let plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
        && text.trim_ascii() == text
        && !(text.starts_with("=?base64?") && text.ends_with("?="));
    let value = if plain {
        Bytes::copy_from_slice(text.as_bytes())
    } else {
        format!("=?base64?{}?=", base64(text.as_bytes())).into()
    };
    // Either form is visible ASCII and blanks.
    HeaderValue::from_maybe_shared(value).unwrap_or(HeaderValue::from_static(""))
}

fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let bits =
            group.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - group.len()));
        for at in 0..4 {
            let digit = (bits >> (18 - 6 * at)) & 0x3f;
            out.push(if at <= group.len() {
                char::from(ALPHABET[digit as usize])
            } else {
                '='
            });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_belongs_to_the_connection_is_not_forwarded() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("connection", "close, X-Hop"),
            ("x-hop", "1"),
            ("transfer-encoding", "chunked"),
            ("content-length", "5"),
            ("proxy-authorization", "secret"),
            ("x-two", "a"),
            ("x-two", "b"),
            ("authorization", "Bearer t"),
        ] {
            headers.append(name, value.parse().unwrap());
        }
        let kept = end_to_end(&headers);
        let kept: Vec<_> = kept
            .iter()
            .map(|(name, value)| (name.as_str(), value.to_str().unwrap()))
            .collect();
        assert_eq!(
            kept,
            [("x-two", "a"), ("x-two", "b"), ("authorization", "Bearer t")]
        );
    }

    #[test]
    fn media_types_are_told_apart() {
        for (value, media_type) in [
            ("application/json", Media::Json),
            ("Application/JSON; charset=UTF-8", Media::Json),
            ("application/json;charset=\"utf-8\"", Media::Json),
            ("application/json; charset=utf-16", Media::Other),
            ("application/problem+json", Media::Other),
            ("text/event-stream;charset=utf-8", Media::EventStream),
            ("text/html", Media::Other),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::CONTENT_TYPE, value.parse().unwrap());
            assert_eq!(media(&headers), media_type, "{value}");
            headers.append(header::CONTENT_TYPE, value.parse().unwrap());
            assert_eq!(media(&headers), Media::Other);
        }
        assert_eq!(media(&HeaderMap::new()), Media::Other);
    }

    #[test]
    fn names_that_no_header_can_carry_are_encoded() {
        for (text, value) in [
            ("get_weather", "get_weather"),
            ("a b", "a b"),
            ("", ""),
            (" a", "=?base64?IGE=?="),
            ("é", "=?base64?w6k=?="),
            ("a\nb", "=?base64?YQpi?="),
            ("=?base64?YQ==?=", "=?base64?PT9iYXNlNjQ/WVE9PT89?="),
            ("file:///ä b", "=?base64?ZmlsZTovLy/DpCBi?="),
        ] {
            assert_eq!(encoded(text), value, "{text:?}");
        }
    }
}
