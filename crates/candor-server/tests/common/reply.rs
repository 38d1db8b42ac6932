//! What a server sends back: one message, or events.

use axum::body::Body;
use axum::response::Response;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, StatusCode};
use http_body_util::BodyExt;
use serde_json::{Value, json};

use super::soon;

/// A reply whose body has not been read.
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    body: Body,
}

impl Reply {
    pub(crate) fn of(response: Response) -> Self {
        let (head, body) = response.into_parts();
        Self { status: head.status, headers: head.headers, body }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// The whole body.
    pub(crate) async fn text(self) -> String {
        let bytes = soon(self.body.collect()).await.unwrap().to_bytes();
        String::from_utf8(bytes.to_vec()).unwrap()
    }

    /// The one message that the body is.
    pub(crate) async fn json(self) -> Value {
        assert_eq!(self.header("content-type"), Some("application/json"));
        serde_json::from_str(&self.text().await).unwrap()
    }

    /// The result for the request with the id 1.
    pub(crate) async fn result(self) -> Value {
        assert_eq!(self.status, StatusCode::OK);
        let mut answer = self.json().await;
        assert_eq!(answer["id"], 1, "{answer}");
        assert!(answer.get("error").is_none(), "{answer}");
        answer["result"].take()
    }

    /// The error for the request with the id 1.
    pub(crate) async fn error(self, status: u16, code: i64) -> Value {
        let answer = self.expect_error(status, code).await;
        assert_eq!(answer["id"], 1, "{answer}");
        answer["error"].clone()
    }

    /// The error of a reply that could not be told which request it is for.
    pub(crate) async fn refusal(self, status: u16, code: i64) -> Value {
        let answer = self.expect_error(status, code).await;
        assert_eq!(answer.get("id"), None, "{answer}");
        answer["error"].clone()
    }

    async fn expect_error(self, status: u16, code: i64) -> Value {
        let sent = self.status;
        let answer = self.json().await;
        assert_eq!((sent.as_u16(), &answer["error"]["code"]), (status, &json!(code)), "{answer}");
        answer
    }

    /// Nothing but a status.
    pub(crate) async fn must_be_empty(self, status: u16) {
        assert_eq!(self.status, status);
        assert_eq!(self.text().await, "");
    }

    /// The events that the body streams.
    pub(crate) fn events(self) -> Events {
        assert_eq!(self.status, StatusCode::OK);
        assert_eq!(self.headers.get(CONTENT_TYPE).unwrap(), "text/event-stream", "an event stream");
        assert_eq!(self.header("x-accel-buffering"), Some("no"));
        Events { body: self.body, unread: String::new() }
    }
}

/// An open event stream. Dropping it hangs up.
pub(crate) struct Events {
    body: Body,
    unread: String,
}

/// One event.
#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) id: Option<String>,
    pub(crate) retry: Option<String>,
    /// None if the event has no data.
    pub(crate) message: Option<Value>,
}

impl Events {
    /// The next event; none when the stream is over. Comments are skipped.
    pub(crate) async fn next(&mut self) -> Option<Event> {
        loop {
            let block = self.block().await?;
            if !block.starts_with(':') {
                return Some(Event::parse(&block));
            }
        }
    }

    /// Lines up to an empty one, whatever they say.
    pub(crate) async fn block(&mut self) -> Option<String> {
        loop {
            if let Some((block, rest)) = self.unread.split_once("\n\n") {
                let (block, rest) = (block.to_owned(), rest.to_owned());
                self.unread = rest;
                return Some(block);
            }
            let Some(frame) = soon(self.body.frame()).await else {
                assert_eq!(self.unread, "", "a whole event, or none");
                return None;
            };
            let bytes = frame.unwrap().into_data().unwrap();
            self.unread.push_str(std::str::from_utf8(&bytes).unwrap());
        }
    }

    /// The message of the next event.
    pub(crate) async fn message(&mut self) -> Value {
        let event = self.next().await.expect("another event");
        event.message.expect("an event with a message")
    }

    /// The messages of all events to the end.
    pub(crate) async fn rest(mut self) -> Vec<Value> {
        let mut messages = Vec::new();
        while let Some(event) = self.next().await {
            messages.extend(event.message);
            assert!(messages.len() < 1000, "a stream that ends");
        }
        messages
    }

    /// The stream ends here.
    pub(crate) async fn must_be_over(mut self) {
        let next = self.next().await;
        assert!(next.is_none(), "the stream goes on: {next:?}");
    }
}

impl Event {
    fn parse(block: &str) -> Self {
        let mut event = Self { id: None, retry: None, message: None };
        for line in block.lines() {
            match line.split_once(": ").expect("a field and its value") {
                ("id", id) => event.id = Some(id.to_owned()),
                ("retry", time) => event.retry = Some(time.to_owned()),
                ("data", "") => {}
                ("data", data) => event.message = Some(serde_json::from_str(data).unwrap()),
                _ => panic!("an unknown field: {line}"),
            }
        }
        event
    }
}
