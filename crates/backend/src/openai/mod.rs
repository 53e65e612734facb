//! Any server that speaks `/v1/responses` or `/v1/chat/completions`, used as a text model: Ollama, llama.cpp, vLLM.
//!
//! Its own tools are left alone on purpose: calls go through the text, so that every model behind any server is
//! called, checked and repaired the same way.

mod api_key;
mod chat_parser;
mod client;
mod connection;
mod connection_pool;
#[cfg(test)]
mod connection_tests;
mod connector;
mod event_stream;
mod pending_events;
mod request_body;
mod response_body;
mod responses_parser;
mod server_error;
mod sse_parser;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tls_tests;
mod token_usage;

use std::time::Duration;

use serde::Deserialize;

use http::Uri;

use self::client::OpenAiClient;
use self::connector::Connector;
pub use self::connector::ProxySettings;
use self::event_stream::EventStream;
use crate::{
    BackendError, BackendErrorKind, BoxFuture, Capabilities, ModelInfo, ModelTurn, TextModel, TurnStream,
};

/// Interface of a server that is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    Responses,
    Chat,
}

#[derive(Clone)]
pub struct OpenAiSettings {
    /// Its address up to and including `/v1`.
    pub url: String,
    pub wire: Wire,
    /// Sent as a bearer token.
    pub key: Option<String>,
    /// The model of every turn, whatever a client names.
    pub model: Option<String>,
    /// For a connection to be made.
    pub connect_limit: Duration,
    pub proxy: ProxySettings,
}

impl OpenAiSettings {
    pub fn new(url: impl Into<String>) -> OpenAiSettings {
        OpenAiSettings {
            url: url.into(),
            wire: Wire::Responses,
            key: None,
            model: None,
            connect_limit: Duration::from_secs(10),
            proxy: ProxySettings::default(),
        }
    }
}

/// A model behind an address.
pub struct OpenAi {
    client: OpenAiClient,
    wire: Wire,
    model: Option<String>,
    /// Host and port for people; an address may hold secrets elsewhere.
    shown: String,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadAddress {
    #[error("`{0}` is not an address such as http://127.0.0.1:11434/v1")]
    NotAnAddress(String),
    #[error("the key has characters that no header can carry")]
    BadKey,
    #[error("the proxy is not an address such as http://127.0.0.1:3128")]
    BadProxy,
}

impl OpenAi {
    /// Fails if the address, the key or the proxy cannot be used. Does not connect.
    pub fn new(settings: OpenAiSettings) -> Result<OpenAi, BadAddress> {
        let server = server_address(&settings.url)?;
        let connector = Connector::new(&server, &settings.proxy, settings.connect_limit)?;
        OpenAi::with_connector(settings, server, connector)
    }

    fn with_connector(
        settings: OpenAiSettings,
        server: Uri,
        connector: Connector,
    ) -> Result<OpenAi, BadAddress> {
        let client = OpenAiClient::new(server, settings.key.as_deref(), connector)?;
        let shown = client.host().to_owned();
        Ok(OpenAi { client, wire: settings.wire, model: settings.model, shown })
    }
}

fn server_address(url: &str) -> Result<Uri, BadAddress> {
    let uri: Option<Uri> = url.parse().ok();
    uri.filter(|uri| matches!(uri.scheme_str(), Some("http" | "https")) && uri.authority().is_some())
        .ok_or_else(|| BadAddress::NotAnAddress(url.to_owned()))
}

impl TextModel for OpenAi {
    fn describe(&self) -> String {
        let wire = match self.wire {
            Wire::Responses => "responses",
            Wire::Chat => "chat/completions",
        };
        format!("the models of {} through /{wire}", self.shown)
    }

    fn capabilities(&self) -> BoxFuture<'_, Result<Capabilities, BackendError>> {
        let can = Capabilities {
            native_tools: false,
            images: true,
            sampling: true,
            output_schema: true,
            reasoning: true,
            verbosity: true,
        };
        Box::pin(async move { Ok(can) })
    }

    fn models(&self) -> BoxFuture<'_, Result<Vec<ModelInfo>, BackendError>> {
        Box::pin(async move {
            if let Some(model) = &self.model {
                return Ok(vec![ModelInfo { id: model.clone(), owned_by: "upstream".to_owned() }]);
            }
            let body = self.client.get("models").await?;
            let listed: ModelList = serde_json::from_slice(&body).map_err(|_unreadable| {
                BackendError::new(
                    BackendErrorKind::Protocol,
                    "the model's server answered its list of models in an unknown form",
                )
            })?;
            let owner = |owner: Option<String>| owner.unwrap_or_else(|| "upstream".to_owned());
            Ok(listed
                .data
                .into_iter()
                .map(|model| ModelInfo { id: model.id, owned_by: owner(model.owned_by) })
                .collect())
        })
    }

    fn start(&self, mut turn: ModelTurn) -> BoxFuture<'_, Result<TurnStream, BackendError>> {
        if let Some(model) = &self.model {
            turn.model.clone_from(model);
        }
        let (path, body) = match self.wire {
            Wire::Responses => ("responses", request_body::responses(&turn)),
            Wire::Chat => ("chat/completions", request_body::chat(&turn)),
        };
        Box::pin(async move {
            let response = self.client.post(path, body?).await?;
            Ok(TurnStream::new(EventStream::new(response, self.wire, self.client.key())))
        })
    }

    fn shut_down(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}

#[derive(Deserialize)]
struct ModelList {
    data: Vec<ListedModel>,
}

#[derive(Deserialize)]
struct ListedModel {
    id: String,
    #[serde(default)]
    owned_by: Option<String>,
}
