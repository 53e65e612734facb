//! `tollgate servers`: the MCP servers that a vault names, and what a person lets through of each.

mod blanks;
mod changes;

use std::path::Path;
use std::sync::Arc;

use clap::{Args, Subcommand};
use serde_json::json;
use shell::Lifetime;
use toolkit::Registry;
use upstream::{Left, Offer, Pin, ServerSettings};

use self::changes::Changes;
use crate::ask;
use crate::drive::{self, Interrupts};
use crate::exit::Exit;
use crate::place::Place;
use crate::screen::{self, Paint};
use crate::servers::{self, Standing};
use crate::stop::{Outcome, Stop};
use crate::trust;
use crate::visible::{count, one_line};
use crate::wiring;

/// Lists the MCP servers of a vault, and approves their tools
///
/// A server is named in [servers.NAME] of .tollgate/config.toml. Its tools can be called once the vault is trusted and
/// a person has looked at what it offers. What was approved is kept outside of the vault, and a tool that its server
/// declares otherwise later is blocked until somebody has looked again.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Example:\n  tollgate servers\n  tollgate servers approve files\n  tollgate servers forget files"
)]
pub(crate) struct Servers {
    #[command(subcommand)]
    what: Option<What>,
    /// Answer in JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Starts a server, shows what it offers that is new or has changed, and lets it be called
    #[command(after_help = "Example:\n  tollgate servers approve files --vault ~/Notes")]
    Approve {
        /// The server, as the settings name it
        name: String,
        /// Approve without being asked
        #[arg(long)]
        yes: bool,
        /// Answer in JSON
        #[arg(long)]
        json: bool,
    },
    /// Takes the approval of a server back
    #[command(after_help = "Example:\n  tollgate servers forget files")]
    Forget {
        /// The server
        name: String,
        /// Answer in JSON
        #[arg(long)]
        json: bool,
    },
}

impl Servers {
    pub(crate) fn json(&self) -> bool {
        match &self.what {
            None => self.json,
            Some(What::Approve { json, .. } | What::Forget { json, .. }) => *json,
        }
    }

    pub(crate) fn run(self, vault: Option<&Path>) -> Outcome {
        let place = Place::find(vault)?;
        match &self.what {
            None => list(&place, self.json),
            Some(What::Approve { name, yes, json }) => approve(&place, name, *yes, *json),
            Some(What::Forget { name, json }) => forget(&place, name, *json),
        }
    }
}

/// A server in words: how it stands, and what to do about it.
pub(crate) fn in_words(
    place: &Place,
    name: &str,
    settings: &ServerSettings,
) -> Result<(bool, String, String), Stop> {
    let approve = format!("tollgate servers approve {name} {}", place.vault_words());
    Ok(match servers::standing(place, name, settings)? {
        Standing::New => (false, "not approved".to_owned(), approve),
        Standing::Moved => (false, "its settings have changed since it was approved".to_owned(), approve),
        Standing::Approved(pin) => {
            let tools = count(pin.tools.len() as u64, "tool");
            match unusable(place, name, settings, &pin).as_slice() {
                [] => (true, format!("approved, {tools}"), String::new()),
                left_out => (true, format!("approved, {tools}; left out: {}", left_out.join("; ")), approve),
            }
        }
    })
}

fn list(place: &Place, json: bool) -> Outcome {
    let mut answer = Vec::new();
    for (name, settings) in &place.settings.servers {
        let (approved, state, mend) = in_words(place, name, settings)?;
        if json {
            answer.push(json!({ "name": name, "approved": approved, "state": state, "settings": settings }));
            continue;
        }
        let paint = Paint::stdout();
        let shown = if approved { paint.good(&state) } else { paint.odd(&state) };
        screen::say(format_args!("{}  {shown}", paint.bold(name)));
        screen::say(format_args!("  {}", one_line(&settings.in_words(name))));
        if !mend.is_empty() {
            screen::say(format_args!("  {} {mend}", paint.dim("next:")));
        }
    }
    let trusted = trust::trust_state(place)?.is_usable();
    if json {
        screen::json(&json!({ "trusted": trusted, "servers": answer }));
    } else if place.settings.servers.is_empty() {
        screen::say(
            "The settings of this vault name no servers; [servers.NAME] in .tollgate/config.toml does.",
        );
    } else if !trusted {
        screen::say(format_args!("Nothing of it runs before `tollgate trust {}`.", place.vault_words()));
    }
    Ok(Exit::Done)
}

fn approve(place: &Place, name: &str, yes: bool, json: bool) -> Outcome {
    let settings = declared(place, name)?;
    // The program of a server is started only for those who trust the vault that names it.
    drop(trust::hooks(place)?);
    let offer = ask_server(place, name, settings, json)?;
    let before = servers::pinned(place, name)?;
    let whole = Pin { identity: settings.identity(), tools: offer.tools.clone() };
    let left_out = unusable(place, name, settings, &whole);
    let changes = Changes::between(before.as_ref(), settings, &offer, left_out);
    if !json {
        changes.show(name);
    }
    let nothing_new = changes.is_none();
    if !yes && !nothing_new {
        ask_for(name, &changes)?;
    }
    let usable = |tool: &&upstream::Declared| !changes.is_left_out(&tool.name);
    let tools = offer.tools.iter().filter(usable).cloned().collect();
    let pin = Pin { identity: settings.identity(), tools };
    let approved = pin.tools.len() as u64;
    servers::record(place, name, pin)?;
    if json {
        screen::json(&changes.as_json(name, approved));
    } else if nothing_new {
        screen::say("Nothing has changed since it was approved.");
    } else {
        screen::say(format_args!("Approved: {} of {name} can be called.", count(approved, "tool")));
    }
    Ok(Exit::Done)
}

/// Starts the server, lists its tools and ends it again.
fn ask_server(place: &Place, name: &str, settings: &ServerSettings, json: bool) -> Result<Offer, Stop> {
    let session = wiring::session(place, Lifetime::Run)?;
    let server = servers::server(place, name, settings, Some(&session));
    let interrupts = Interrupts::new(json);
    let cancel = interrupts.cancel();
    let asked = drive::to_end(&interrupts, async {
        let offer = tokio::select! {
            offer = server.offer() => Some(offer),
            () = cancel.cancelled() => None,
        };
        server.close().await;
        offer
    })?;
    match asked {
        Some(Ok(offer)) => Ok(offer),
        Some(Err(fault)) => {
            let hint = fault.recovery_hint().to_owned();
            Err(Stop::new(Exit::Failures, "server", fault.message).hint(hint))
        }
        None => Err(Stop::new(Exit::Cancelled, "cancelled", "nothing was approved")),
    }
}

fn forget(place: &Place, name: &str, json: bool) -> Outcome {
    let was = servers::forget(place, name)?;
    if json {
        screen::json(&json!({ "server": name, "forgotten": was }));
    } else if was {
        screen::say(format_args!("Forgotten: no tool of {} can be called.", one_line(name)));
    } else {
        screen::say(format_args!("Nothing of {} was approved.", one_line(name)));
    }
    Ok(Exit::Done)
}

fn declared<'p>(place: &'p Place, name: &str) -> Result<&'p ServerSettings, Stop> {
    place.settings.servers.get(name).ok_or_else(|| {
        let known: Vec<&str> = place.settings.servers.keys().map(String::as_str).collect();
        let hint = match envelope::nearest(name, known.iter().copied()) {
            Some(meant) => format!("did you mean `{meant}`? `tollgate servers` lists them all"),
            None => format!("declare it as [servers.{}] in .tollgate/config.toml", one_line(name)),
        };
        let message = format!("the settings of this vault name no server `{}`", one_line(name));
        Stop::bad_input("no_such_server", message).hint(hint)
    })
}

/// Tools that cannot be used whatever a person says, with the reason.
fn unusable(place: &Place, name: &str, settings: &ServerSettings, pin: &Pin) -> Vec<String> {
    let server = servers::server(place, name, settings, None);
    let servers = upstream::Servers::new(vec![(Arc::clone(&server), pin.clone())], Left::WithTheRun);
    servers.register(&mut Registry::new())
}

fn ask_for(name: &str, changes: &Changes) -> Result<(), Stop> {
    let asked = Paint::stderr().bold(format!("May models call these tools of {name}? [y/N]"));
    match ask::at_terminal(&format!("{}\n{asked}", changes.summary())).as_deref() {
        Some("y" | "yes") => Ok(()),
        Some(_) => Err(Stop::new(Exit::Denied, "declined", "nothing was approved")),
        None => Err(Stop::new(
            Exit::Denied,
            "declined",
            "no terminal is there to ask at, so nothing was approved",
        )
        .hint("look at what it offers above, then run it again with --yes")),
    }
}
