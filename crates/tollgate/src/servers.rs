//! The servers of a vault, and what a person has approved of each.
//!
//! The word is kept outside of the vault, as for hooks: `$XDG_STATE_HOME/tollgate/servers/`, one file a vault, for the
//! owner only. It holds the declarations themselves, so that a change can be shown and not only noticed.

mod word;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use envelope::Hash;
use serde::{Deserialize, Serialize};
use shell::{CommandSettings, Session};
use upstream::{ApprovedNow, Body, Left, Pin, Server, ServerParts, ServerSettings, Servers};

use self::word::Word;
use crate::bounded_file;
use crate::place::Place;
use crate::stop::Stop;
use crate::trust;
use crate::visible::path_words;

/// The largest file that is read. It holds the declarations of every approved tool of a vault's servers.
const LARGEST: u64 = 64 << 20;

/// What is known of one server.
pub(crate) enum Standing {
    /// Nobody has looked at it.
    New,
    /// Its settings lead elsewhere than when it was approved.
    Moved,
    Approved(Pin),
}

/// The file of one vault.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Approved {
    vault: String,
    servers: BTreeMap<String, Pin>,
}

/// How it stands with a server of the settings.
pub(crate) fn standing(place: &Place, name: &str, settings: &ServerSettings) -> Result<Standing, Stop> {
    Ok(match read(place)?.servers.remove(name) {
        None => Standing::New,
        Some(pin) if pin.identity != settings.identity() => Standing::Moved,
        Some(pin) => Standing::Approved(pin),
    })
}

/// The last that was approved under this name, wherever it led.
pub(crate) fn pinned(place: &Place, name: &str) -> Result<Option<Pin>, Stop> {
    Ok(read(place)?.servers.remove(name))
}

/// The servers whose tools can be called. Starts nothing.
pub(crate) fn open(place: &Place, session: Option<&Arc<Session>>, left: Left) -> Result<Servers, Stop> {
    opened(place, approved(place)?, session, left)
}

/// The servers of a process that outlives its runs: every run gets the same ones, and so the same programs, as long as
/// it would get equal ones.
#[derive(Default)]
pub(crate) struct Kept(Mutex<Option<(Callable, Arc<Servers>)>>);

/// Everything that makes the servers of one run those of another.
#[derive(PartialEq)]
struct Callable {
    approved: Vec<(String, ServerSettings, Pin)>,
    commands: CommandSettings,
}

impl Kept {
    /// What is approved is read every time, so that a word taken back counts for the next run.
    pub(crate) fn open(&self, place: &Place, session: &Arc<Session>) -> Result<Arc<Servers>, Stop> {
        let callable = Callable { approved: approved(place)?, commands: place.settings.commands.clone() };
        let make =
            |callable: &Callable| opened(place, callable.approved.clone(), Some(session), Left::ForTheNext);
        self.same_or(callable, make)
    }

    fn same_or(
        &self,
        callable: Callable,
        make: impl FnOnce(&Callable) -> Result<Servers, Stop>,
    ) -> Result<Arc<Servers>, Stop> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_before, servers)) = kept.as_ref().filter(|(before, _)| *before == callable) {
            servers.begin();
            return Ok(Arc::clone(servers));
        }
        // Those before end with the last run that has them.
        let servers = Arc::new(make(&callable)?);
        *kept = Some((callable, Arc::clone(&servers)));
        Ok(servers)
    }
}

/// The servers that a person has approved as they stand in the settings.
fn approved(place: &Place) -> Result<Vec<(String, ServerSettings, Pin)>, Stop> {
    if place.settings.servers.is_empty() {
        return Ok(Vec::new());
    }
    let mut approved = read(place)?.servers;
    let same = |(name, settings): (&String, &ServerSettings)| {
        let pin = approved.remove(name).filter(|pin| pin.identity == settings.identity())?;
        Some((name.clone(), settings.clone(), pin))
    };
    Ok(place.settings.servers.iter().filter_map(same).collect())
}

fn opened(
    place: &Place,
    approved: Vec<(String, ServerSettings, Pin)>,
    session: Option<&Arc<Session>>,
    left: Left,
) -> Result<Servers, Stop> {
    let mut servers = Vec::new();
    for (name, settings, pin) in approved {
        let now = Word::on(file(place)?, name.clone());
        servers.push((made(place, &name, &settings, session, Some(now)), pin));
    }
    Ok(Servers::new(servers, left))
}

/// One server to look at, not started yet.
pub(crate) fn server(
    place: &Place,
    name: &str,
    settings: &ServerSettings,
    session: Option<&Arc<Session>>,
) -> Arc<Server> {
    made(place, name, settings, session, None)
}

fn made(
    place: &Place,
    name: &str,
    settings: &ServerSettings,
    session: Option<&Arc<Session>>,
    approved: Option<ApprovedNow>,
) -> Arc<Server> {
    let value = |name: &String| Some((name.clone(), std::env::var(name).ok()?));
    let body = Body {
        session: session.cloned(),
        env: settings.env.iter().filter_map(value).collect(),
        token: settings.token_env.as_ref().and_then(|name| std::env::var(name).ok()),
    };
    let (name, settings, root) = (name.to_owned(), settings.clone(), place.vault.clone());
    Server::new(ServerParts { name, settings, body, root, approved })
}

/// Writes down what a person has approved.
pub(crate) fn record(place: &Place, name: &str, pin: Pin) -> Result<(), Stop> {
    change(place, |approved| {
        approved.servers.insert(name.to_owned(), pin);
        true
    })
    .map(|_changed| ())
}

/// Takes it back. Returns whether there was something.
pub(crate) fn forget(place: &Place, name: &str) -> Result<bool, Stop> {
    change(place, |approved| approved.servers.remove(name).is_some())
}

fn change(place: &Place, change: impl FnOnce(&mut Approved) -> bool) -> Result<bool, Stop> {
    let file = file(place)?;
    let _turn = trust::take_turn(&file)?;
    let mut approved = read(place)?;
    let changed = change(&mut approved);
    if changed {
        approved.vault = place.vault.to_string_lossy().into_owned();
        trust::write(&file, &approved)?;
    }
    Ok(changed)
}

/// Where the word on the servers of a vault is kept.
pub(crate) fn file(place: &Place) -> Result<PathBuf, Stop> {
    let hash = Hash::of(place.vault.as_os_str().as_encoded_bytes()).to_string();
    let name: String = hash.chars().filter(char::is_ascii_alphanumeric).skip("b3".len()).take(32).collect();
    Ok(trust::state_folder(Some(&place.vault))?.join("servers").join(format!("{name}.json")))
}

fn read(place: &Place) -> Result<Approved, Stop> {
    read_file(&file(place)?)
}

fn read_file(file: &Path) -> Result<Approved, Stop> {
    let bad = |why: String| {
        Stop::bad_input("bad_servers_file", format!("{}: {why}", path_words(file)))
            .hint("move it away; `tollgate servers approve NAME` makes a new one")
    };
    match bounded_file::read_own(file, LARGEST).map_err(bad)? {
        Some(bytes) => serde_json::from_slice(&bytes).map_err(|error| bad(error.to_string())),
        None => Ok(Approved::default()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use envelope::Hash;
    use shell::CommandSettings;
    use upstream::{Left, Pin, ServerSettings, Servers};

    use super::{Callable, Kept};

    fn callable(identity: &str, path: &str) -> Callable {
        let pin = Pin { identity: Hash::of(identity.as_bytes()), tools: Vec::new() };
        Callable {
            approved: vec![("s".to_owned(), ServerSettings::default(), pin)],
            commands: CommandSettings { path: path.to_owned(), ..CommandSettings::default() },
        }
    }

    #[test]
    fn runs_share_servers_until_what_is_approved_or_how_programs_run_changes() {
        let kept = Kept::default();
        let open = |identity, path| {
            let make = |_: &Callable| Ok(Servers::new(Vec::new(), Left::ForTheNext));
            kept.same_or(callable(identity, path), make).unwrap_or_else(|stop| panic!("{}", stop.message))
        };
        let first = open("a", "/bin");
        assert!(Arc::ptr_eq(&first, &open("a", "/bin")));
        let other = open("b", "/bin");
        assert!(!Arc::ptr_eq(&first, &other));
        assert!(Arc::ptr_eq(&other, &open("b", "/bin")));
        assert!(!Arc::ptr_eq(&other, &open("b", "/usr/bin")));
    }
}
