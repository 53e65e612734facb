//! One server: started when it is first needed, one connection at a time, started again when it crashes.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use envelope::{Failure, Fault, SideEffect};
use rmcp::service::ClientInitializeError;
use serde_json::Value;
use shell::{Companionship, Session};
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};
use toolkit::ToolCx;

use crate::approval::still_approved;
use crate::backoff::{Backoff, Turn};
use crate::lines::{Cut, Lines};
use crate::link::{Link, Offer, Opening, Program};
use crate::tail::Tail;
use crate::{Address, ApprovedNow, Drift, Pin, ServerSettings, hidden, http};

/// How long a server may take until it has listed its tools.
const START: Duration = Duration::from_secs(45);
/// What a line has beside the text of an answer, which may take twice its length to write.
const AROUND: u64 = 1 << 20;

/// Counts the programs that were started, so that no two are known by the same mark.
static COUNT: AtomicU64 = AtomicU64::new(0);

/// What is needed to reach a server, besides its settings.
#[derive(Clone, Default)]
pub struct Body {
    /// What its program runs in. None where servers are only listed.
    pub session: Option<Arc<Session>>,
    /// The variables that its settings name, with their values.
    pub env: BTreeMap<String, String>,
    pub token: Option<String>,
}

/// Everything that makes a server.
pub struct ServerParts {
    pub name: String,
    pub settings: ServerSettings,
    pub body: Body,
    /// The vault, as a real path.
    pub root: PathBuf,
    /// Absent for one that is only looked at: nothing of it is called.
    pub approved: Option<ApprovedNow>,
}

/// Which tool is called.
#[derive(Clone, Copy)]
pub(crate) struct Order<'a> {
    /// Its name to us.
    pub(crate) who: &'a str,
    /// Its name to the server.
    pub(crate) tool: &'a str,
    pub(crate) pin: &'a Pin,
    /// What is on record from the moment in which the server is asked.
    pub(crate) effect: Option<SideEffect>,
}

/// A server and its connection, if it has one.
pub struct Server {
    parts: ServerParts,
    /// Locked while the server starts: who comes meanwhile waits for that start instead of making one more.
    seat: Mutex<Seat>,
}

/// Why the tools of a server are not known.
enum Unlisted {
    Broken(Fault),
    /// It is there, and says nothing.
    Late(Fault),
}

#[derive(Default)]
struct Seat {
    link: Option<Arc<Link>>,
    backoff: Backoff,
}

impl Server {
    pub fn new(parts: ServerParts) -> Arc<Server> {
        Arc::new(Server { parts, seat: Mutex::default() })
    }

    pub fn name(&self) -> &str {
        &self.parts.name
    }

    pub(crate) fn settings(&self) -> &ServerSettings {
        &self.parts.settings
    }

    pub(crate) fn root(&self) -> &PathBuf {
        &self.parts.root
    }

    /// Starts the server if need be and lists its tools, for a person to look at.
    pub async fn offer(&self) -> Result<Offer, Fault> {
        let link = self.link().await?;
        match timeout(START, link.offer()).await {
            Ok(offer) => offer.map_err(|fault| self.named(fault)),
            Err(_late) => Err(self.unavailable("it did not list its tools in time")),
        }
    }

    /// Calls a tool that is pinned, if the server still says of it what the pin says.
    pub(crate) async fn call(&self, cx: &ToolCx, order: Order<'_>, args: Value) -> Result<Value, Fault> {
        let Order { who, tool, pin, effect } = order;
        let Value::Object(args) = args else {
            return Err(Fault::new(
                Failure::InvalidArguments,
                format!("the arguments of {who} are no object"),
            ));
        };
        // Nothing is started for a call that is refused anyway.
        self.refuse_disapproved(order)?;
        let link = tokio::select! {
            biased;
            _cause = cx.cancel().cancelled() => {
                return Err(Fault::new(Failure::Canceled, format!("{who} was cancelled before it began")));
            }
            ready = self.ready(pin) => {
                let (link, drift) = ready?;
                self.refuse_drifted(who, tool, &drift)?;
                link
            }
        };
        // A server may take long to start and to list, and a word that was taken back meanwhile counts.
        self.refuse_disapproved(order)?;
        // From here on something may have happened, whatever comes back.
        effect.into_iter().for_each(|effect| cx.observed(effect));
        let called = link.call(cx, who, tool, args, self.parts.settings.max_output_bytes.get()).await;
        if let Err(fault) = &called
            && (link.is_closed() || fault.failure == Failure::DependencyUnavailable)
        {
            self.lost(&link, &fault.message).await;
        }
        // It may have done its work before it ended, or do it still.
        called.map_err(|fault| {
            match matches!(fault.failure, Failure::DependencyUnavailable | Failure::Canceled) {
                true => uncertain(fault),
                // The server has said what became of it.
                false => fault,
            }
        })
    }

    /// A connection over which tools can be called, and how those that the server lists differ from the pinned ones.
    async fn ready(&self, pin: &Pin) -> Result<(Arc<Link>, Drift), Fault> {
        let before = self.seat.lock().await.link.clone();
        let link = self.link().await?;
        match self.drift(&link, pin).await {
            Ok(drift) => return Ok((link, drift)),
            // It has ended since the last call and it comes out only now. Nothing has been asked of it yet that could
            // be done twice.
            Err(Unlisted::Broken(fault)) if before.is_some_and(|before| Arc::ptr_eq(&before, &link)) => {
                self.lost(&link, &fault.message).await;
            }
            Err(Unlisted::Broken(fault) | Unlisted::Late(fault)) => {
                self.lost(&link, &fault.message).await;
                return Err(fault);
            }
        }
        let link = self.link().await?;
        match self.drift(&link, pin).await {
            Ok(drift) => Ok((link, drift)),
            Err(Unlisted::Broken(fault) | Unlisted::Late(fault)) => {
                self.lost(&link, &fault.message).await;
                Err(fault)
            }
        }
    }

    async fn drift(&self, link: &Link, pin: &Pin) -> Result<Drift, Unlisted> {
        match timeout(START, link.drift(pin)).await {
            Ok(drift) => drift.map_err(|fault| Unlisted::Broken(self.named(fault))),
            Err(_late) => Err(Unlisted::Late(self.unavailable("it did not list its tools in time"))),
        }
    }

    fn refuse_disapproved(&self, order: Order<'_>) -> Result<(), Fault> {
        let Order { who, tool, pin, .. } = order;
        self.parts.approved.as_ref().map_or(Ok(()), |now| still_approved(self.name(), who, tool, pin, now))
    }

    fn refuse_drifted(&self, who: &str, tool: &str, drift: &Drift) -> Result<(), Fault> {
        let name = self.name();
        let what = match drift.changed.get(tool) {
            Some(parts) => {
                format!("has another {} than the one that was approved", parts.join(" and another "))
            }
            None if drift.gone.iter().any(|gone| gone == tool) => {
                "is not listed by its server any more".to_owned()
            }
            None => return Ok(()),
        };
        Err(Fault::new(Failure::BlockedTool, format!("{who} {what}; nothing was called"))
            .hint(format!("let a person look at the change with `tollgate servers approve {name}`"))
            .detail("server", name))
    }

    /// The connection, made now if there is none.
    async fn link(&self) -> Result<Arc<Link>, Fault> {
        let mut seat = self.seat.lock().await;
        if let Some(link) = &seat.link {
            if !link.is_closed() {
                return Ok(Arc::clone(link));
            }
            // It ended while nobody was looking.
            let (link, why) = (Arc::clone(link), "it ended by itself".to_owned());
            seat.link = None;
            seat.backoff.failed(Instant::now(), link.up_for(), why);
            link.close().await;
        }
        match seat.backoff.turn(Instant::now()) {
            Turn::Now => {}
            Turn::In(wait, why) => {
                let message = format!("it is started again in {} ms; {why}", wait.as_millis());
                return Err(self
                    .unavailable(&message)
                    .detail("retryAfterMs", u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)));
            }
            Turn::NeverAgain(why) => {
                let message = format!("it failed too often and is not started again; {why}");
                return Err(self.unavailable(&message).retryable(false));
            }
        }
        match self.start().await {
            Ok(link) => {
                let link = Arc::new(link);
                seat.link = Some(Arc::clone(&link));
                Ok(link)
            }
            Err(fault) => {
                seat.backoff.failed(Instant::now(), Duration::ZERO, fault.message.clone());
                Err(fault)
            }
        }
    }

    /// Takes note that a connection is of no more use.
    async fn lost(&self, link: &Arc<Link>, why: &str) {
        let mut seat = self.seat.lock().await;
        if seat.link.as_ref().is_some_and(|current| Arc::ptr_eq(current, link)) {
            seat.link = None;
            seat.backoff.failed(Instant::now(), link.up_for(), why.to_owned());
        }
        drop(seat);
        link.close().await;
    }

    async fn start(&self) -> Result<Link, Fault> {
        match timeout(START, self.open()).await {
            Ok(opened) => opened,
            Err(_late) => Err(self.unavailable(&format!("it was not ready within {} s", START.as_secs()))),
        }
    }

    async fn open(&self) -> Result<Link, Fault> {
        match self.parts.settings.address() {
            Some(Address::Command(command)) => match self.open_program(command, Opening::Either).await? {
                Ok(link) => Ok(link),
                // Some programs end, or lose their way, when they are asked something before they are greeted.
                Err(_first) => {
                    self.open_program(command, Opening::Greeting).await?.map_err(|why| self.unavailable(&why))
                }
            },
            Some(Address::Url(url)) => {
                let longest = usize::try_from(self.longest_message()).unwrap_or(usize::MAX);
                let transport = http::transport(url, self.parts.body.token.as_deref(), longest)
                    .map_err(|why| self.unavailable(&why).retryable(false))?;
                let opened = Link::open(transport, Opening::Either, None).await;
                opened.map_err(|(error, _)| self.unavailable(&reason(&error)))
            }
            None => Err(self.unavailable("its settings have neither `command` nor `url`").retryable(false)),
        }
    }

    /// The connection to a program, or why the program did not get that far.
    async fn open_program(
        &self,
        command: &[String],
        opening: Opening,
    ) -> Result<Result<Link, String>, Fault> {
        let Some(session) = &self.parts.body.session else {
            return Err(Fault::new(
                Failure::SetupRequired,
                "no vault is open, so there is nowhere to run a server",
            )
            .hint("name one with `--vault`"));
        };
        let (own, count) = (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let settings = &self.parts.settings;
        let wanted = Companionship {
            argv: command.iter().map(OsString::from).collect(),
            env: self.parts.body.env.clone(),
            readable: settings.readable.clone(),
            network: settings.network,
            mark: format!("server-{own}-{count}"),
        };
        let (companion, streams) = session.accompany(wanted).await?;
        let unconnected = |error: std::io::Error| self.unavailable(&error.to_string());
        let cut = Arc::new(Cut::default());
        let tail = Tail::of(streams.stderr).map_err(unconnected)?;
        let longest = usize::try_from(self.longest_message()).unwrap_or(usize::MAX);
        let lines =
            Lines::new(streams.stdin, streams.stdout, longest, Arc::clone(&cut)).map_err(unconnected)?;
        let program = Program { companion, tail, cut };
        match Link::open(lines, opening, Some(program)).await {
            Ok(link) => Ok(Ok(link)),
            Err((error, program)) => {
                let Some(program) = program else { return Ok(Err(reason(&error))) };
                let why = program.why_it_ended().await;
                program.companion.end().await;
                match why {
                    Ok(fault) => Err(fault),
                    Err(said) => Ok(Err(format!("{}; {said}", reason(&error)))),
                }
            }
        }
    }

    fn longest_message(&self) -> u64 {
        self.parts.settings.max_output_bytes.get().saturating_mul(2).saturating_add(AROUND)
    }

    /// A fault of the connection, with the name of the server that it is about.
    fn named(&self, fault: Fault) -> Fault {
        if fault.failure != Failure::DependencyUnavailable {
            return fault;
        }
        let retryable = fault.is_retryable();
        self.unavailable(&fault.message).retryable(retryable)
    }

    fn unavailable(&self, why: &str) -> Fault {
        Fault::new(
            Failure::DependencyUnavailable,
            format!("the server `{}` does not answer: {why}", self.parts.name),
        )
        .hint(format!(
            "look at [servers.{}] in .tollgate/config.toml, and at `tollgate servers`",
            self.parts.name
        ))
    }

    /// Lets it be started again although it failed too often for those who came before.
    pub(crate) fn forgive(&self) {
        // While somebody starts it, it is not given up.
        if let Ok(mut seat) = self.seat.try_lock() {
            seat.backoff.forgive();
        }
    }

    /// Ends the connection, if there is one. The next call makes another. Says whether there was one.
    pub async fn close(&self) -> bool {
        let link = self.seat.lock().await.link.take();
        match link {
            Some(link) => {
                link.close().await;
                true
            }
            None => false,
        }
    }
}

/// Says that nobody knows whether a call did what it was to do.
fn uncertain(fault: Fault) -> Fault {
    let fault = fault.retryable(false).detail("outcome", "unknown");
    if fault.hint.is_some() {
        return fault;
    }
    fault.hint("nobody knows whether it happened; find out what it did before you call it again")
}

/// Why a connection did not begin, without what only a programmer reads.
#[allow(
    clippy::wildcard_enum_match_arm,
    reason = "the other ways to begin wrongly need no words of their own"
)]
fn reason(error: &ClientInitializeError) -> String {
    let said = match error {
        ClientInitializeError::ConnectionClosed(_) => "it ended before it was ready".to_owned(),
        ClientInitializeError::TransportError { error, .. } => http::words(&*error.error),
        ClientInitializeError::JsonRpcError(error) => format!("it refuses to begin: {}", error.message),
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => return reason(fallback),
        ClientInitializeError::NoCompatibleProtocolVersion { .. } => {
            "it speaks no version of the protocol that is spoken here".to_owned()
        }
        _ => "it does not begin as the protocol says".to_owned(),
    };
    hidden::one_line(&said, 300)
}

#[cfg(test)]
mod tests;
