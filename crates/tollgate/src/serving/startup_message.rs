//! The message of a started server: how to connect a client.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;

use serde_json::json;

use crate::screen;
use app::display_text::display_path;
use app::shell_quoting::quote_for_shell;

pub(crate) struct StartupMessage<'a> {
    pub(crate) address: SocketAddr,
    pub(crate) token_file: &'a Path,
    /// Description of the model.
    pub(crate) model: &'a str,
    /// False if only MCP clients are served.
    pub(crate) has_model: bool,
    /// The model that is always used, if one was chosen.
    pub(crate) named: Option<&'a str>,
    pub(crate) tools: bool,
    /// Whether MCP clients are served.
    pub(crate) mcp: bool,
}

impl StartupMessage<'_> {
    pub(crate) fn show(&self, as_json: bool) {
        if as_json {
            screen::json(&json!({
                "url": self.url(), "tokenFile": self.token_file, "model": self.named, "backend": self.model,
                "tools": self.tools, "mcp": self.mcp.then(|| format!("{}/mcp", self.url())),
            }));
        } else {
            screen::print_unwrapped(self.text());
        }
    }

    fn url(&self) -> String {
        let mut address = self.address;
        if address.ip().is_unspecified() {
            address.set_ip(IpAddr::V4(Ipv4Addr::LOCALHOST));
        }
        format!("http://{address}")
    }

    fn text(&self) -> String {
        let url = self.url();
        let token = quote_for_shell(self.token_file);
        let mut parts = vec![format!(
            "Serving {model_words}\n  at    {url}{path}\n  token {token_words}",
            model_words = self.model,
            path = if self.has_model { "/v1" } else { "" },
            token_words = display_path(self.token_file),
        )];
        if self.has_model {
            if self.tools {
                parts.push(
                    "Requests with {\"type\": \"tollgate\"} among their tools use the tools of the vault, with the usual checks."
                        .to_owned(),
                );
            }
            parts.push(self.model_clients(&url, &token));
        }
        parts.push(if self.mcp {
            format!("MCP clients, with the token as a bearer token (`tollgate connect` writes their settings):\n  {url}/mcp")
        } else {
            "MCP clients are served only where there is a vault: name one with --vault DIR.".to_owned()
        });
        if self.has_model {
            parts.push(format!(
                "A plugin in Obsidian: base URL {url}/v1, the token as API key; start the server with\n  --origin app://obsidian.md

Try it:
  curl {url}/v1/models -H \"Authorization: Bearer $(cat {token})\""
            ));
        }
        parts.push("Ctrl-C stops the server.".to_owned());
        parts.join("\n\n")
    }

    /// Returns the settings of clients of the Responses API.
    fn model_clients(&self, url: &str, token: &str) -> String {
        let model = self.named.unwrap_or("MODEL");
        format!(
            "The openai SDKs (Python, JavaScript) and most apps:
  export OPENAI_BASE_URL={url}/v1
  export OPENAI_API_KEY=\"$(cat {token})\"

codex, in ~/.codex/config.toml:
  model = \"{model}\"
  model_provider = \"tollgate\"
  [model_providers.tollgate]
  name = \"Tollgate\"
  base_url = \"{url}/v1\"
  wire_api = \"responses\"
  env_key = \"OPENAI_API_KEY\""
        )
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use expect_test::expect;

    use super::StartupMessage;

    #[test]
    fn a_server_without_a_model_shows_mcp_clients_only() {
        let message = StartupMessage {
            address: ([127, 0, 0, 1], 8800).into(),
            token_file: Path::new("/state/token"),
            model: "no model",
            has_model: false,
            named: None,
            tools: false,
            mcp: true,
        };
        expect![[r#"
            Serving no model
              at    http://127.0.0.1:8800
              token /state/token

            MCP clients, with the token as a bearer token (`tollgate connect` writes their settings):
              http://127.0.0.1:8800/mcp

            Ctrl-C stops the server."#]]
        .assert_eq(&message.text());
        let with_model = StartupMessage { has_model: true, ..message }.text();
        assert!(with_model.contains("OPENAI_BASE_URL=http://127.0.0.1:8800/v1"), "{with_model}");
    }
}
