//! The settings file as it is parsed.

use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroU64};

use engine::{ApprovalPolicy, Mode, PolicyLimits, Rule};
use mcp_client::ServerSettings;
use plan::SiblingPolicy;
use serde::Deserialize;
use shell::CommandSettings;
use toml::Spanned;
use toml::de::DeTable;

use super::hook::DeclaredHook;
use super::keys::{unknown_key, wrong_value};
use super::receipts::ReceiptsTable;
use super::text_lines::line_of;

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct SettingsFile {
    pub(super) mode: Option<Mode>,
    pub(super) state: Option<Spanned<String>>,
    pub(super) sibling_failure: Option<SiblingPolicy>,
    pub(super) limits: LimitsTable,
    pub(super) receipts: ReceiptsTable,
    pub(super) commands: CommandSettings,
    pub(super) approval: ApprovalPolicy,
    pub(super) rules: Vec<Spanned<Rule>>,
    pub(super) hooks: Vec<DeclaredHook>,
    pub(super) servers: BTreeMap<String, ServerSettings>,
}

/// Keys that are absent keep their cautious defaults.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct LimitsTable {
    max_concurrency: Option<NonZeroU32>,
    max_attempts: Option<NonZeroU32>,
    call_timeout_ms: Option<NonZeroU64>,
    max_foreach_items: Option<u64>,
    max_backoff_ms: Option<u64>,
    max_result_bytes: Option<u64>,
    cancel_grace_ms: Option<u64>,
}

impl LimitsTable {
    pub(super) fn apply(&self, limits: &mut PolicyLimits) {
        fn set<T: Copy>(place: &mut T, given: Option<T>) {
            if let Some(given) = given {
                *place = given;
            }
        }
        set(&mut limits.max_concurrency, self.max_concurrency);
        set(&mut limits.max_attempts, self.max_attempts);
        set(&mut limits.call_timeout_ms, self.call_timeout_ms);
        set(&mut limits.max_foreach_items, self.max_foreach_items);
        set(&mut limits.max_backoff_ms, self.max_backoff_ms);
        set(&mut limits.max_result_bytes, self.max_result_bytes);
        set(&mut limits.cancel_grace_ms, self.cancel_grace_ms);
    }
}

/// Parses the file. Fails with a message and a line number.
pub(super) fn read(text: &str) -> Result<SettingsFile, String> {
    let explain = |error: &toml::de::Error| {
        let line = line_of(text, error.span().map_or(0, |span| span.start));
        // The parser's message can have several lines; the first one names the problem.
        let what = error.message().lines().next().unwrap_or("cannot be read");
        format!("line {line}: {what}")
    };
    let table = DeTable::parse(text).map_err(|error| explain(&error))?;
    // Unknown keys are reported first: serde's message about a misspelt key is worse.
    if let Some((at, what)) = unknown_key(table.get_ref()) {
        return Err(format!("line {}: {what}", line_of(text, at)));
    }
    toml::from_str(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        match wrong_value(table.get_ref(), at, text) {
            Some(what) if !error.message().starts_with("missing field") => {
                format!("line {}: {what}", line_of(text, at))
            }
            Some(_) | None => explain(&error),
        }
    })
}
