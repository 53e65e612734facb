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
        let model = self.named.unwrap_or("MODEL");
        let tools = if self.tools {
            "\nRequests with {\"type\": \"tollgate\"} among their tools use the tools of the vault, with the usual checks.\n"
        } else {
            ""
        };
        let mcp = if self.mcp {
            format!(
                "\nMCP clients, with the token as a bearer token (`tollgate connect` writes their settings):\n  {url}/mcp\n"
            )
        } else {
            "\nMCP clients are served only where there is a vault: name one with --vault DIR.\n".to_owned()
        };
        format!(
            "Serving {model_words}\n  at    {url}/v1\n  token {token_words}\n{tools}
The openai SDKs (Python, JavaScript) and most apps:
  export OPENAI_BASE_URL={url}/v1
  export OPENAI_API_KEY=\"$(cat {token})\"

codex, in ~/.codex/config.toml:
  model = \"{model}\"
  model_provider = \"tollgate\"
  [model_providers.tollgate]
  name = \"Tollgate\"
  base_url = \"{url}/v1\"
  wire_api = \"responses\"
  env_key = \"OPENAI_API_KEY\"
{mcp}
A plugin in Obsidian: base URL {url}/v1, the token as API key; start the server with
  --origin app://obsidian.md

Try it:
  curl {url}/v1/models -H \"Authorization: Bearer $(cat {token})\"
Ctrl-C stops the server.",
            model_words = self.model,
            token_words = display_path(self.token_file),
        )
    }
}
