//! Any server that speaks `/v1/responses` or `/v1/chat/completions`, used as a text model: Ollama, llama.cpp, vLLM.
//!
//! Its own tools are left alone on purpose: calls go through the text, so that every model behind any server is
//! called, checked and repaired the same way.

mod answer;
mod body;
mod chat;
mod client;
mod delta;
mod failure;
mod framing;
mod head;
mod heard;
mod idle_talk;
mod json;
mod last_text;
mod line;
#[cfg(test)]
mod line_tests;
mod lines;
mod refrain;
mod reply;
mod responses;
#[cfg(test)]
mod sealed_tests;
mod secret;
mod socket;
mod sse;
#[cfg(test)]
mod tests;
mod usage;

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;

use self::client::Client;
use self::last_text::LastText;
use self::lines::Connector;
use self::reply::Reply;
use crate::{BackendError, BoxFuture, Capabilities, ErrorKind, ModelInfo, TextModel, Turn, TurnStream};

/// Which of its two interfaces a server is asked through.
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
}

impl OpenAiSettings {
    pub fn new(url: impl Into<String>) -> OpenAiSettings {
        OpenAiSettings {
            url: url.into(),
            wire: Wire::Responses,
            key: None,
            model: None,
            connect_limit: Duration::from_secs(10),
        }
    }
}

/// A model behind an address.
pub struct OpenAi {
    client: Arc<Client>,
    wire: Wire,
    model: Option<String>,
    instructions: LastText,
    /// Without what may be secret in the address.
    shown: String,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadAddress {
    #[error("`{0}` is not an address such as http://127.0.0.1:11434/v1")]
    NotAnAddress(String),
    #[error("the key has characters that no header can carry")]
    BadKey,
}

impl OpenAi {
    pub fn new(settings: OpenAiSettings) -> Result<OpenAi, BadAddress> {
        let connector = client::connector(settings.connect_limit);
        OpenAi::over(settings, connector)
    }

    fn over(settings: OpenAiSettings, connector: Connector) -> Result<OpenAi, BadAddress> {
        let client = Client::new(&settings.url, settings.key.as_deref(), connector)?;
        let shown = client.host().to_owned();
        let (wire, model) = (settings.wire, settings.model);
        Ok(OpenAi { client: Arc::new(client), wire, model, instructions: LastText::default(), shown })
    }
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
            let listed: Listed = serde_json::from_slice(&body).map_err(|_unreadable| {
                BackendError::new(
                    ErrorKind::Protocol,
                    "the model's server answered its list of models in no form that is known",
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

    fn start(&self, mut turn: Turn) -> BoxFuture<'_, Result<TurnStream, BackendError>> {
        if let Some(model) = &self.model {
            turn.model.clone_from(model);
        }
        let (path, body) = match self.wire {
            Wire::Responses => ("responses", body::responses(&turn, &self.instructions)),
            Wire::Chat => ("chat/completions", body::chat(&turn, &self.instructions)),
        };
        Box::pin(async move {
            let answer = self.client.post(path, body?).await?;
            Ok(TurnStream::new(Reply::new(answer, self.wire, self.client.secret())))
        })
    }

    fn shut_down(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}

#[derive(Deserialize)]
struct Listed {
    data: Vec<ListedModel>,
}

#[derive(Deserialize)]
struct ListedModel {
    id: String,
    #[serde(default)]
    owned_by: Option<String>,
}
