//! Servers and bodies for tests.

use std::{
    collections::VecDeque,
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use bytes::Bytes;
use futures::{StreamExt, stream};
use http::{Request, Response};
use http_body::Frame;
use http_body_util::{BodyExt, Full, StreamBody, combinators::UnsyncBoxBody};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use super::{HttpBackend, HttpClient};
use crate::BoxError;

pub(crate) type TestBody = UnsyncBoxBody<Bytes, BoxError>;

/// Sends the chunks, and then whatever `rest` does.
fn body(
    chunks: &[&str],
    rest: impl futures::Stream<Item = Result<Frame<Bytes>, BoxError>> + Send + 'static,
) -> TestBody {
    let chunks: Vec<_> = chunks
        .iter()
        .map(|chunk| Ok(Frame::data(Bytes::from((*chunk).to_owned()))))
        .collect();
    StreamBody::new(stream::iter(chunks).chain(rest)).boxed_unsync()
}

pub(crate) fn whole(chunks: &[&str]) -> TestBody {
    body(chunks, stream::empty())
}

/// The connection breaks after the chunks.
pub(crate) fn broken(chunks: &[&str]) -> TestBody {
    body(chunks, stream::iter([Err("reset".into())]))
}

/// Nothing comes after the chunks, and no end either.
pub(crate) fn endless(chunks: &[&str]) -> TestBody {
    body(chunks, stream::pending())
}

pub(crate) fn answer(status: u16, headers: &[(&str, &str)], body: TestBody) -> Response<TestBody> {
    let mut response = Response::builder().status(status);
    for (name, value) in headers {
        response = response.header(*name, *value);
    }
    response.body(body).unwrap()
}

pub(crate) fn json(text: &str) -> Response<TestBody> {
    answer(200, &[("content-type", "application/json")], whole(&[text]))
}

pub(crate) fn events(body: TestBody) -> Response<TestBody> {
    answer(200, &[("content-type", "text/event-stream")], body)
}

/// What a fake server has been asked.
#[derive(Clone, Default)]
pub(crate) struct Asked(Arc<Mutex<Vec<Request<Bytes>>>>);

impl Asked {
    pub(crate) fn len(&self) -> usize {
        self.0.lock().unwrap().len()
    }

    pub(crate) fn last(&self) -> Request<Bytes> {
        self.0.lock().unwrap().last().unwrap().clone()
    }

    pub(crate) fn header(&self, name: &str) -> Option<String> {
        let request = self.last();
        let value = request.headers().get(name)?;
        Some(value.to_str().unwrap().to_owned())
    }
}

/// An HTTP client that gives these answers in order, and after them fails to connect.
pub(crate) fn client(
    answers: impl IntoIterator<Item = Response<TestBody>>,
) -> (impl HttpClient<Body = TestBody, Future: Send>, Asked) {
    let answers: VecDeque<_> = answers.into_iter().collect();
    let answers = Arc::new(Mutex::new(answers));
    let asked = Asked::default();
    let seen = asked.clone();
    let client = tower::service_fn(move |request: Request<Full<Bytes>>| {
        let (answers, seen) = (Arc::clone(&answers), seen.clone());
        async move {
            let (parts, body) = request.into_parts();
            let body = body.collect().await.unwrap().to_bytes();
            seen.0.lock().unwrap().push(Request::from_parts(parts, body));
            let next = answers.lock().unwrap().pop_front();
            next.ok_or_else(|| BoxError::from("refused"))
        }
    });
    (client, asked)
}

pub(crate) fn backend(
    answers: impl IntoIterator<Item = Response<TestBody>>,
) -> (HttpBackend<impl HttpClient<Body = TestBody>>, Asked) {
    let (client, asked) = client(answers);
    let builder = HttpBackend::builder("http://backend.test/mcp?key=1");
    let builder = builder.max_body(1000).max_event(1000);
    (builder.build_with(client).unwrap(), asked)
}

/// A server on a real socket that the test plays by hand.
pub(crate) struct Upstream(TcpListener);

impl Upstream {
    pub(crate) async fn bind() -> Self {
        Self(TcpListener::bind("127.0.0.1:0").await.unwrap())
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/mcp", self.0.local_addr().unwrap())
    }

    /// The next connection, with the request that came on it.
    pub(crate) async fn accept(&self) -> Conn {
        let mut conn = Conn {
            stream: self.0.accept().await.unwrap().0,
            head: String::new(),
            body: String::new(),
        };
        conn.receive().await;
        conn
    }
}

/// One connection, spoken in bytes.
pub(crate) struct Conn {
    pub(crate) stream: TcpStream,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Conn {
    pub(crate) async fn connect(address: SocketAddr) -> Self {
        Self {
            stream: TcpStream::connect(address).await.unwrap(),
            head: String::new(),
            body: String::new(),
        }
    }

    /// Reads a head and a body of known length.
    pub(crate) async fn receive(&mut self) {
        self.receive_head().await;
        let length = self
            .header("content-length")
            .map_or(0, |length| length.parse().unwrap());
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).await.unwrap();
        self.body = String::from_utf8(body).unwrap();
    }

    pub(crate) async fn receive_head(&mut self) {
        self.head = self.until("\r\n\r\n").await;
    }

    /// Reads up to and including a text.
    pub(crate) async fn until(&mut self, end: &str) -> String {
        let mut text = Vec::new();
        while !text.ends_with(end.as_bytes()) {
            let byte = self.stream.read_u8().await;
            text.push(
                byte.unwrap_or_else(|error| panic!("{error} after {:?}", String::from_utf8_lossy(&text))),
            );
        }
        String::from_utf8(text).unwrap()
    }

    /// Reads a chunked body to its end.
    pub(crate) async fn chunked(&mut self) -> String {
        let mut body = String::new();
        loop {
            let chunk = self.chunk().await;
            if chunk.is_empty() {
                return body;
            }
            body.push_str(&chunk);
        }
    }

    /// Reads one chunk of a chunked body.
    pub(crate) async fn chunk(&mut self) -> String {
        let length = self.until("\r\n").await;
        let length = usize::from_str_radix(length.trim(), 16).unwrap();
        let mut chunk = vec![0; length + 2];
        self.stream.read_exact(&mut chunk).await.unwrap();
        chunk.truncate(length);
        String::from_utf8(chunk).unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then_some(value.trim())
        })
    }

    pub(crate) fn status(&self) -> u16 {
        self.head.split(' ').nth(1).unwrap().parse().unwrap()
    }

    pub(crate) async fn send(&mut self, text: &str) {
        self.stream.write_all(text.as_bytes()).await.unwrap();
    }

    pub(crate) async fn send_chunk(&mut self, text: &str) {
        self.send(&format!("{:x}\r\n{text}\r\n", text.len())).await;
    }

    /// Sends a request or response with these header lines and this body.
    pub(crate) async fn send_message(&mut self, start: &str, headers: &str, body: &str) {
        let length = body.len();
        self.send(&format!(
            "{start}\r\n{headers}content-length: {length}\r\n\r\n{body}"
        ))
        .await;
    }

    /// Waits until the peer has closed.
    pub(crate) async fn closed(&mut self) {
        let mut rest = Vec::new();
        let _ = self.stream.read_to_end(&mut rest).await;
    }
}

impl Conn {
    /// The connection on which the next request comes: this one, used again, or a new one.
    pub(crate) async fn on_either(mut self, upstream: &Upstream) -> Self {
        let fresh = std::pin::pin!(upstream.accept());
        let again = std::pin::pin!(async {
            self.receive().await;
            self
        });
        futures::future::select(fresh, again).await.factor_first().0
    }
}
