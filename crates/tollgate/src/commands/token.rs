//! `tollgate token`: a token for each client of the server.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use engine::{Clock, SystemClock};
use envelope::ClientId;
use gateway::edge::{ClientFile, ClientRecord, Token as Secret, TokenError};
use serde_json::{Value, json};

use crate::exit::Exit;
use crate::screen::{self, Paint};
use crate::serving::home;
use crate::stop::{Outcome, Stop};
use crate::visible::{one_line, path_words};

/// Gives each client of the server a token of its own
///
/// `tollgate serve` tells clients apart by their tokens: what you allowed one of them for always, how many questions it
/// may have open and what is recorded about it goes by the token, never by a name that a client gives itself. Tokens
/// are kept as hashes, so that each is shown once. A running server notices every change at the next request. The token
/// that the server makes for itself belongs to the client `default`.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Example:\n  tollgate token issue laptop\n  tollgate token issue ci --out ~/.config/ci/tollgate-token\n  tollgate token list\n  tollgate token rotate laptop\n  tollgate token revoke laptop"
)]
pub(crate) struct Token {
    #[command(subcommand)]
    what: Option<What>,
    /// Answer in JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Makes a token for a new client, and shows it once
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
    /// Gives a client another token; what you allowed the client stays
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

impl Token {
    pub(crate) fn json(&self) -> bool {
        match &self.what {
            None => self.json,
            Some(
                What::Issue { json, .. }
                | What::List { json }
                | What::Revoke { json, .. }
                | What::Rotate { json, .. },
            ) => *json,
        }
    }

    pub(crate) fn run(self, vault: Option<&Path>) -> Outcome {
        let home = home::folder(vault)?;
        let tokens = Tokens { file: ClientFile::new(home.join(home::CLIENTS)), default: home.join("token") };
        let json = self.json();
        match self.what {
            None | Some(What::List { .. }) => tokens.list(json),
            Some(What::Issue { name, out, .. }) => tokens.issue(&name, out.as_deref(), json),
            Some(What::Revoke { name, .. }) => tokens.revoke(&name, json),
            Some(What::Rotate { name, out, .. }) if name == ClientId::DEFAULT => {
                tokens.rotate_default(out.as_deref(), json)
            }
            Some(What::Rotate { name, out, .. }) => tokens.rotate(&name, out.as_deref(), json),
        }
    }
}

struct Tokens {
    file: ClientFile,
    /// The file with the server's own token.
    default: PathBuf,
}

impl Tokens {
    fn list(&self, json: bool) -> Outcome {
        let clients = self.file.list().map_err(stopped)?;
        let has_default = self.default.exists();
        if json {
            let clients: Vec<Value> = clients.iter().map(client_json).collect();
            let default =
                has_default.then(|| json!({ "name": ClientId::DEFAULT, "tokenFile": self.default }));
            screen::json(&json!({ "clients": clients, "default": default }));
            return Ok(Exit::Done);
        }
        let paint = Paint::stdout();
        if has_default {
            let file = path_words(&self.default);
            screen::say(format_args!("{}  the server's own token, in {file}", paint.bold(ClientId::DEFAULT)));
        }
        for client in &clients {
            let rotated = client.rotated_at.map(|time| format!(", rotated {time:.0}")).unwrap_or_default();
            screen::say(format_args!(
                "{}  issued {:.0}{rotated}",
                paint.bold(&client.name),
                client.created_at
            ));
        }
        if clients.is_empty() {
            screen::say("No client has a token of its own; `tollgate token issue NAME` makes one.");
        }
        Ok(Exit::Done)
    }

    fn issue(&self, name: &str, out: Option<&Path>, json: bool) -> Outcome {
        let (token, client) = self.file.issue(name, SystemClock::new().now()).map_err(stopped)?;
        if let Err(error) = write_out(&token, out) {
            // A token that nobody has is of no use.
            self.file.revoke(name).map_err(stopped)?;
            return Err(stopped(error));
        }
        show(&token, &client, out, json);
        Ok(Exit::Done)
    }

    fn rotate(&self, name: &str, out: Option<&Path>, json: bool) -> Outcome {
        let (token, client) = self.file.rotate(name, SystemClock::new().now()).map_err(stopped)?;
        write_out(&token, out).map_err(|error| {
            stopped(error).hint("the old token is invalid already; rotate it again with another --out")
        })?;
        show(&token, &client, out, json);
        Ok(Exit::Done)
    }

    fn rotate_default(&self, out: Option<&Path>, json: bool) -> Outcome {
        if out.is_some() {
            let message = format!("the server's own token stays in {}", path_words(&self.default));
            return Err(Stop::bad_input("unused_option", message).hint("leave out --out"));
        }
        Secret::rotate(&self.default).map_err(stopped)?;
        if json {
            screen::json(&json!({ "client": ClientId::DEFAULT, "tokenFile": self.default }));
        } else {
            screen::say(format_args!(
                "The server's own token in {} is a new one.",
                path_words(&self.default)
            ));
        }
        Ok(Exit::Done)
    }

    fn revoke(&self, name: &str, json: bool) -> Outcome {
        if name == ClientId::DEFAULT {
            return Err(Stop::bad_input("default_token", "the server's own token cannot be revoked")
                .hint("`tollgate token rotate default` makes the old one invalid"));
        }
        let client = self.file.revoke(name).map_err(stopped)?;
        if json {
            screen::json(&json!({ "revoked": client_json(&client) }));
        } else {
            screen::say(format_args!("The token of `{}` is invalid from now on.", client.name));
        }
        Ok(Exit::Done)
    }
}

fn write_out(token: &Secret, out: Option<&Path>) -> Result<(), TokenError> {
    out.map_or(Ok(()), |path| token.write_to(path))
}

/// The one time that a token is shown.
fn show(token: &Secret, client: &ClientRecord, out: Option<&Path>, json: bool) {
    match (out, json) {
        (Some(path), true) => screen::json(&json!({ "client": client_json(client), "tokenFile": path })),
        (None, true) => screen::json(&json!({ "client": client_json(client), "token": token.reveal() })),
        (Some(path), false) => {
            screen::say(format_args!("The token of `{}` is in {}.", client.name, path_words(path)));
        }
        (None, false) => {
            screen::note(format_args!("The token of `{}`, which is not shown again:", client.name));
            screen::say(token.reveal());
        }
    }
}

fn client_json(client: &ClientRecord) -> Value {
    let id = client.id().map(|id| id.to_string());
    json!({ "name": client.name, "id": id, "createdAt": client.created_at, "rotatedAt": client.rotated_at })
}

fn stopped(error: TokenError) -> Stop {
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
    let stop = Stop::bad_input(code, one_line(&error.to_string()));
    if code == "no_such_client" {
        return stop.hint("`tollgate token list` names those that have a token");
    }
    stop
}
