//! `tollgate token`: a token of its own for each client of the server.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use engine::{Clock, SystemClock};
use envelope::ClientId;
use http_edge::{ClientFile, ClientRecord, Token as Secret, TokenError};
use serde_json::{Value, json};

use crate::cli_error::{CliError, CommandResult};
use crate::exit::Exit;
use crate::screen::{self};
use crate::serving::state_folder;
use app::display_text::{display_path, escape_line};

/// Gives each client of the server a token of its own
///
/// `tollgate serve` identifies a client by its token, never by a name that it sends: remembered approvals, the limit on
/// open questions and the records go by it. Tokens are stored as hashes, so each is shown once. A running server
/// notices changes at the next request. The client of the server's own token is `default`.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Example:\n  tollgate token issue laptop\n  tollgate token issue ci --out ~/.config/ci/tollgate-token\n  tollgate token list\n  tollgate token rotate laptop\n  tollgate token revoke laptop"
)]
pub(crate) struct TokenCommand {
    #[command(subcommand)]
    what: Option<TokenAction>,
    /// Answer in JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum TokenAction {
    /// Creates a token for a new client, and shows it once
    #[command(
        after_help = "Example:\n  tollgate token issue laptop\n  tollgate token issue ci --out ci-token"
    )]
    Issue {
        /// The name of the client: letters, digits, `.`, `_` and `-`
        name: String,
        /// Write the token to this file, which only you can read, instead of showing it
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
        /// Answer in JSON
        #[arg(long)]
        json: bool,
    },
    /// Lists the clients that have a token
    #[command(after_help = "Example:\n  tollgate token list --json")]
    List {
        /// Answer in JSON
        #[arg(long)]
        json: bool,
    },
    /// Makes a client's token invalid; its open questions are withdrawn
    #[command(after_help = "Example:\n  tollgate token revoke laptop")]
    Revoke {
        /// The name of the client
        name: String,
        /// Answer in JSON
        #[arg(long)]
        json: bool,
    },
    /// Replaces a client's token; what you allowed the client stays
    #[command(after_help = "Example:\n  tollgate token rotate laptop\n  tollgate token rotate default")]
    Rotate {
        /// The name of the client, or `default` for the server's own token
        name: String,
        /// Write the token to this file, which only you can read, instead of showing it
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
        /// Answer in JSON
        #[arg(long)]
        json: bool,
    },
}

impl TokenCommand {
    pub(crate) fn json(&self) -> bool {
        match &self.what {
            None => self.json,
            Some(
                TokenAction::Issue { json, .. }
                | TokenAction::List { json }
                | TokenAction::Revoke { json, .. }
                | TokenAction::Rotate { json, .. },
            ) => *json,
        }
    }

    pub(crate) fn run(self, vault: Option<&Path>) -> CommandResult {
        let home = state_folder::server_state_folder(vault)?;
        let tokens = TokenFiles {
            file: ClientFile::new(home.join(state_folder::CLIENTS_FILE)),
            default: home.join("token"),
        };
        let json = self.json();
        match self.what {
            None | Some(TokenAction::List { .. }) => tokens.list(json),
            Some(TokenAction::Issue { name, out, .. }) => tokens.issue(&name, out.as_deref(), json),
            Some(TokenAction::Revoke { name, .. }) => tokens.revoke(&name, json),
            Some(TokenAction::Rotate { name, out, .. }) if name == ClientId::DEFAULT => {
                tokens.rotate_default(out.as_deref(), json)
            }
            Some(TokenAction::Rotate { name, out, .. }) => tokens.rotate(&name, out.as_deref(), json),
        }
    }
}

struct TokenFiles {
    file: ClientFile,
    /// The file with the server's own token.
    default: PathBuf,
}

impl TokenFiles {
    fn list(&self, json: bool) -> CommandResult {
        let clients = self.file.list().map_err(token_error)?;
        let has_default = self.default.exists();
        if json {
            let clients: Vec<Value> = clients.iter().map(client_json).collect();
            let default =
                has_default.then(|| json!({ "name": ClientId::DEFAULT, "tokenFile": self.default }));
            screen::json(&json!({ "clients": clients, "default": default }));
            return Ok(Exit::Done);
        }
        let paint = screen::stdout_paint();
        if has_default {
            let file = display_path(&self.default);
            screen::print(format_args!(
                "{}  the server's own token, in {file}",
                paint.bold(ClientId::DEFAULT)
            ));
        }
        for client in &clients {
            let rotated = client.rotated_at.map(|time| format!(", rotated {time:.0}")).unwrap_or_default();
            screen::print(format_args!(
                "{}  issued {:.0}{rotated}",
                paint.bold(&client.name),
                client.created_at
            ));
        }
        if clients.is_empty() {
            screen::print("No client has a token of its own; `tollgate token issue NAME` makes one.");
        }
        Ok(Exit::Done)
    }

    fn issue(&self, name: &str, out: Option<&Path>, json: bool) -> CommandResult {
        let (token, client) = self.file.issue(name, SystemClock::new().now()).map_err(token_error)?;
        if let Err(error) = write_token_file(&token, out) {
            // A token that could not be written is useless.
            self.file.revoke(name).map_err(token_error)?;
            return Err(token_error(error));
        }
        show(&token, &client, out, json);
        Ok(Exit::Done)
    }

    fn rotate(&self, name: &str, out: Option<&Path>, json: bool) -> CommandResult {
        let (token, client) = self.file.rotate(name, SystemClock::new().now()).map_err(token_error)?;
        write_token_file(&token, out).map_err(|error| {
            token_error(error).hint("the old token is invalid already; rotate it again with another --out")
        })?;
        show(&token, &client, out, json);
        Ok(Exit::Done)
    }

    fn rotate_default(&self, out: Option<&Path>, json: bool) -> CommandResult {
        if out.is_some() {
            let message = format!("the server's own token stays in {}", display_path(&self.default));
            return Err(CliError::bad_input("unused_option", message).hint("leave out --out"));
        }
        Secret::rotate(&self.default).map_err(token_error)?;
        if json {
            screen::json(&json!({ "client": ClientId::DEFAULT, "tokenFile": self.default }));
        } else {
            screen::print(format_args!(
                "The server's own token in {} is a new one.",
                display_path(&self.default)
            ));
        }
        Ok(Exit::Done)
    }

    fn revoke(&self, name: &str, json: bool) -> CommandResult {
        if name == ClientId::DEFAULT {
            return Err(CliError::bad_input("default_token", "the server's own token cannot be revoked")
                .hint("`tollgate token rotate default` makes the old one invalid"));
        }
        let client = self.file.revoke(name).map_err(token_error)?;
        if json {
            screen::json(&json!({ "revoked": client_json(&client) }));
        } else {
            screen::print(format_args!("The token of `{}` is invalid from now on.", client.name));
        }
        Ok(Exit::Done)
    }
}

fn write_token_file(token: &Secret, out: Option<&Path>) -> Result<(), TokenError> {
    out.map_or(Ok(()), |path| token.write_to(path))
}

/// Prints the token; it is never shown again.
fn show(token: &Secret, client: &ClientRecord, out: Option<&Path>, json: bool) {
    match (out, json) {
        (Some(path), true) => screen::json(&json!({ "client": client_json(client), "tokenFile": path })),
        (None, true) => screen::json(&json!({ "client": client_json(client), "token": token.reveal() })),
        (Some(path), false) => {
            screen::print(format_args!("The token of `{}` is in {}.", client.name, display_path(path)));
        }
        (None, false) => {
            screen::notice(format_args!("The token of `{}`, which is not shown again:", client.name));
            screen::print_unwrapped(token.reveal());
        }
    }
}

fn client_json(client: &ClientRecord) -> Value {
    let id = client.id().map(|id| id.to_string());
    json!({ "name": client.name, "id": id, "createdAt": client.created_at, "rotatedAt": client.rotated_at })
}

fn token_error(error: TokenError) -> CliError {
    let code = match &error {
        TokenError::ClientExists { .. } => "client_exists",
        TokenError::NoSuchClient { .. } => "no_such_client",
        TokenError::BadName { .. } => "bad_client_name",
        TokenError::NoName { .. }
        | TokenError::Link { .. }
        | TokenError::NotAFile { .. }
        | TokenError::ForeignOwner { .. }
        | TokenError::OpenToOthers { .. }
        | TokenError::OpenFolder { .. }
        | TokenError::ForeignFolder { .. }
        | TokenError::NoToken { .. }
        | TokenError::NoClients { .. }
        | TokenError::Io { .. } => "token",
    };
    let error = CliError::bad_input(code, escape_line(&error.to_string()));
    if code == "no_such_client" {
        return error.hint("`tollgate token list` names those that have a token");
    }
    error
}
