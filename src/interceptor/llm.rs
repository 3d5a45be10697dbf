//! The payloads of the event `llm/completion`.

use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use super::Members;

/// Writes the members that are there.
macro_rules! payload {
    ($(#[$doc:meta])* $name:ident { $($(#[$member_doc:meta])* $member:ident: $type:ty = $key:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default)]
        #[non_exhaustive]
        pub struct $name {
            $($(#[$member_doc])* pub $member: Option<$type>,)*
            /// Members this crate does not know.
            pub extra: Members,
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut map = serializer.serialize_map(None)?;
                $(if let Some(value) = &self.$member {
                    map.serialize_entry($key, value)?;
                })*
                self.extra.write_into(&mut map)?;
                map.end()
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let mut members = Members::deserialize(deserializer)?;
                Ok(Self {
                    $($member: members.take_as($key)?,)*
                    extra: members,
                })
            }
        }
    };
}

payload! {
    /// The payload of `llm/completion` in the request phase (SEP-2624): what a model is asked.
    ///
    /// It is for interceptors to read; one that changes a payload edits it by JSON Pointer, so that the rest keeps
    /// its bytes.
    ///
    /// ```
    /// use mcp_interceptors::interceptor::LlmRequest;
    ///
    /// let json = r#"{"model":"m","messages":[{"role":"user","content":"hi"}],"maxTokens":10,"temperature":0.10,"seed":7}"#;
    /// let request: LlmRequest = serde_json::from_str(json)?;
    /// assert_eq!(request.messages.as_ref().unwrap()[0].content.as_deref(), Some("hi"));
    /// assert_eq!(serde_json::to_string(&request)?, json);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    LlmRequest {
        /// The model.
        model: String = "model",
        /// The conversation.
        messages: Vec<LlmMessage> = "messages",
        /// How many tokens the answer may have.
        max_tokens: u64 = "maxTokens",
        /// The temperature, as it was written.
        temperature: Box<RawValue> = "temperature",
        /// Anything else.
        metadata: Box<RawValue> = "metadata",
    }
}

payload! {
    /// The payload of `llm/completion` in the response phase (SEP-2624): what a model answered.
    LlmResponse {
        /// The model.
        model: String = "model",
        /// The answer.
        message: LlmMessage = "message",
        /// Why it ends where it does.
        stop_reason: String = "stopReason",
        /// What it cost.
        usage: LlmUsage = "usage",
        /// Anything else.
        metadata: Box<RawValue> = "metadata",
    }
}

payload! {
    /// One message of a conversation with a model.
    LlmMessage {
        /// Who speaks.
        role: String = "role",
        /// The text.
        content: String = "content",
    }
}

payload! {
    /// What an answer of a model cost.
    LlmUsage {
        /// Tokens read.
        input_tokens: u64 = "inputTokens",
        /// Tokens written.
        output_tokens: u64 = "outputTokens",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_round_trip_with_what_is_not_known() {
        let json = r#"{"model":"m","message":{"role":"assistant","content":"\n"},"stopReason":"end","usage":{"inputTokens":1,"outputTokens":2,"cached":1.0},"metadata":{"b":1,"a":1.10},"x":1e2}"#;
        let response: LlmResponse = serde_json::from_str(json).unwrap();
        assert_eq!(response.usage.as_ref().unwrap().output_tokens, Some(2));
        assert_eq!(serde_json::to_string(&response).unwrap(), json);
        assert_eq!(serde_json::to_string(&LlmRequest::default()).unwrap(), "{}");
        assert!(serde_json::from_str::<LlmRequest>(r#"{"messages":"hi"}"#).is_err());
    }
}
