//! What a run may do. Written into `run.json`; never changes while the run lives.

use std::num::{NonZeroU32, NonZeroU64};
use std::sync::Arc;

use envelope::{Hash, LimitsSnapshot, PolicySnapshot, SandboxSnapshot, ToolDecl, canonical_hash};
use plan::{CheckLimits, RunLimits, SiblingPolicy};
use serde::{Deserialize, Serialize};
use toolkit::PathKeys;
use toolkit::command_line::{CommandLine, SimpleCommand};

use crate::receipts::Receipts;
use crate::rules::{BadRule, BuiltIns, CompiledRule, Rule, RuleEffect, Subject};
use crate::voice::Approvals;

/// What happens to a call that no rule speaks about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Reads run; writes and commands need one yes per plan.
    Ask,
    /// Reads run; nothing else does, whatever the rules say.
    ReadOnly,
    /// Rules decide; what they do not name runs.
    Trusted,
}

/// No `Default`: whoever starts a run says how far it may go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Limits {
    pub max_concurrency: NonZeroU32,
    pub max_attempts: NonZeroU32,
    /// The longest time one call may be given.
    pub call_timeout_ms: NonZeroU64,
    /// A foreach over more items asks again.
    pub max_foreach_items: u64,
    pub max_backoff_ms: u64,
    /// The largest output of one call that is kept.
    pub max_result_bytes: u64,
    /// How long a tool may take to stop after it was told to.
    pub cancel_grace_ms: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Policy {
    pub mode: Mode,
    pub rules: Vec<Rule>,
    /// What stands before and after calls, one declaration a hook. Not read by the gate, which is given the
    /// hooks themselves; here so that a yes and a resumed run are bound to them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<String>,
    /// How far commands reach, where that is not what they reach by themselves. Not read by the gate, which
    /// is given the tools themselves; here so that a yes and a resumed run are bound to it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<String>,
    /// The servers whose tools can be called, one declaration each. Not read by the gate either; here so that a yes
    /// and a resumed run are bound to where calls go.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<String>,
    /// Whose yes counts.
    #[serde(default, skip_serializing_if = "Approvals::is_usual")]
    pub approval: Approvals,
    pub limits: Limits,
    #[serde(default)]
    pub receipts: Receipts,
    pub sibling_failure: SiblingPolicy,
}

impl Policy {
    /// The limits of a vault whose owner has set none.
    pub fn cautious() -> Policy {
        Policy {
            mode: Mode::Ask,
            rules: Vec::new(),
            hooks: Vec::new(),
            commands: Vec::new(),
            servers: Vec::new(),
            approval: Approvals::default(),
            limits: Limits {
                max_concurrency: NonZeroU32::MIN.saturating_add(7),
                max_attempts: NonZeroU32::MIN.saturating_add(4),
                call_timeout_ms: NonZeroU64::MIN.saturating_add(600_000 - 1),
                max_foreach_items: 1000,
                max_backoff_ms: 60_000,
                max_result_bytes: 16 * 1024 * 1024,
                cancel_grace_ms: 1000,
            },
            receipts: Receipts::default(),
            sibling_failure: SiblingPolicy::Ignore,
        }
    }

    pub fn hash(&self) -> Hash {
        canonical_hash(&serde_json::to_value(self).unwrap_or_default())
    }

    /// What a plan is checked against before it runs.
    pub fn check_limits(&self) -> CheckLimits {
        CheckLimits {
            max_attempts: self.limits.max_attempts.get(),
            max_call_timeout_ms: self.limits.call_timeout_ms.get(),
        }
    }

    pub(crate) fn run_limits(&self) -> RunLimits {
        RunLimits {
            max_parallel: self.limits.max_concurrency.get(),
            max_attempts: self.limits.max_attempts.get(),
            max_foreach_items: self.limits.max_foreach_items,
            max_backoff_ms: self.limits.max_backoff_ms,
        }
    }

    /// The part that every call carries.
    pub(crate) fn snapshot(&self) -> Arc<PolicySnapshot> {
        Arc::new(PolicySnapshot {
            confirmations_required: self.mode == Mode::Ask,
            sandbox: SandboxSnapshot {
                enabled: true,
                allowed_roots: vec!["/".to_owned()],
                deny_patterns: vec!["..".to_owned(), "://".to_owned()],
            },
            limits: LimitsSnapshot {
                max_concurrency: self.limits.max_concurrency.get(),
                max_attempts: Some(self.limits.max_attempts.get()),
                call_timeout_ms: Some(self.limits.call_timeout_ms.get()),
                max_foreach_items: Some(self.limits.max_foreach_items),
            },
        })
    }
}

/// A policy with its globs compiled, ready to be asked about calls.
pub(crate) struct CompiledPolicy {
    pub(crate) policy: Policy,
    rules: Vec<CompiledRule>,
    built_ins: BuiltIns,
}

/// What the rules and the mode say about one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Opinion {
    Allow {
        why: String,
    },
    /// Every reason that there is: a yes to one does not answer another.
    Ask {
        reasons: Vec<AskReason>,
    },
    Deny {
        why: String,
    },
    /// The mode lets nothing of this risk through.
    Blocked {
        why: String,
    },
}

/// Why a call needs a yes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AskReason {
    pub(crate) why: String,
    /// Whether the yes to the plan answers it. The person saw which tools the plan uses; a path may only
    /// have come to light while the plan ran, and a hook speaks about this very call.
    pub(crate) by_plan: bool,
}

impl CompiledPolicy {
    pub(crate) fn compile(policy: Policy) -> Result<CompiledPolicy, BadRule> {
        let rules = policy
            .rules
            .iter()
            .enumerate()
            .map(|(index, rule)| CompiledRule::compile(index + 1, rule.clone()))
            .collect::<Result<_, _>>()?;
        let built_ins = BuiltIns::compile().map_err(|what| BadRule { number: 0, what })?;
        Ok(CompiledPolicy { policy, rules, built_ins })
    }

    /// The first deny rule that matches, if any. A line that nobody can judge is denied too: asking about it
    /// would be asking for a yes to something unread.
    pub(crate) fn denied(&self, subject: Subject<'_>) -> Option<String> {
        if let Some(CommandLine { over_limit: true, opaque: Some(why), .. }) = subject.command {
            return Some(format!("the limit on commands ({why})"));
        }
        self.matching(RuleEffect::Deny, subject).next().map(CompiledRule::label)
    }

    /// Deny, then ask, then allow, then the mode's default.
    pub(crate) fn opinion(&self, subject: Subject<'_>) -> Opinion {
        if let Some(why) = self.denied(subject) {
            return Opinion::Deny { why };
        }
        let effects = subject.tool.risk_level.has_effects() && !subject.dry_run;
        if self.policy.mode == Mode::ReadOnly && effects {
            return Opinion::Blocked { why: "mode read-only".to_owned() };
        }
        let allowed = self.allowed(subject);
        let mut reasons: Vec<AskReason> = self
            .matching(RuleEffect::Ask, subject)
            .map(|rule| AskReason { why: rule.label(), by_plan: !rule.has_paths() })
            .collect();
        reasons.extend(self.doubts(subject).into_iter().map(|why| AskReason { why, by_plan: false }));
        if effects && allowed.is_none() && self.policy.mode == Mode::Ask {
            // Also beside a rule that asks: a remembered yes to that rule must not answer for the mode.
            reasons.push(AskReason { why: "mode ask".to_owned(), by_plan: true });
        }
        if !reasons.is_empty() {
            return Opinion::Ask { reasons };
        }
        let why = match (allowed, self.policy.mode) {
            (Some(by), _) => by,
            (None, Mode::Ask) => "mode ask, read-only".to_owned(),
            (None, Mode::ReadOnly) => "mode read-only".to_owned(),
            (None, Mode::Trusted) => "mode trusted".to_owned(),
        };
        Opinion::Allow { why }
    }

    /// What allows the call. A line of commands is allowed when each of them is, by whatever rules.
    fn allowed(&self, subject: Subject<'_>) -> Option<String> {
        let Some(line) = subject.command else {
            return self.matching(RuleEffect::Allow, subject).next().map(CompiledRule::label);
        };
        if line.opaque.is_some() || line.commands.is_empty() {
            return None;
        }
        let mut labels: Vec<String> = Vec::new();
        for command in &line.commands {
            let label = self.allows_command(subject, line, command)?.label();
            if !labels.contains(&label) {
                labels.push(label);
            }
        }
        Some(labels.join(", "))
    }

    /// The rule that allows one command of the call.
    fn allows_command(
        &self,
        subject: Subject<'_>,
        line: &CommandLine,
        command: &SimpleCommand,
    ) -> Option<&CompiledRule> {
        self.rules.iter().find(|rule| rule.allows_command(subject, line, command))
    }

    /// Why a command of the line may be one that a rule speaks of, although its words do not say so.
    fn unread(&self, subject: Subject<'_>, line: &CommandLine) -> Option<String> {
        if let Some(why) = &line.opaque {
            return Some(format!("the line cannot be read in full ({why})"));
        }
        // A rule that allows the file has named it.
        let is_unknown = |command: &&SimpleCommand| {
            command.is_by_path() && self.allows_command(subject, line, command).is_none()
        };
        let program = line.commands.iter().find(is_unknown)?.argv.first()?;
        Some(format!("`{program}` may be a copy of any program, or a link to it"))
    }

    /// Reasons to ask about a command that no mode and no other rule answers.
    fn doubts(&self, subject: Subject<'_>) -> Vec<String> {
        let Some(line) = subject.command else {
            return Vec::new();
        };
        let mut doubts = self.built_ins.objections(line);
        if let Some(rule) = self.rules.iter().find(|rule| rule.could_restrict(subject))
            && let Some(why) = self.unread(subject, line)
        {
            doubts.push(format!("{} may be meant: {why}", rule.label()));
        }
        doubts
    }

    /// Whether a plan with these tools has to be confirmed before it starts. The commands are those that
    /// stand in the plan in full.
    ///
    /// Paths are not known yet: a rule that names paths speaks up when a call with such a path comes.
    pub(crate) fn needs_confirmation<'t>(
        &self,
        steps: impl IntoIterator<Item = (&'t ToolDecl, Option<CommandLine>)>,
    ) -> bool {
        let paths = &PathKeys::default();
        steps.into_iter().any(|(tool, command)| {
            let subject = Subject { tool, paths, command: command.as_ref(), dry_run: false };
            matches!(self.opinion(subject), Opinion::Ask { .. })
        })
    }

    fn matching<'a>(
        &'a self,
        effect: RuleEffect,
        subject: Subject<'a>,
    ) -> impl Iterator<Item = &'a CompiledRule> {
        self.rules.iter().filter(move |rule| rule.rule.effect == effect && rule.matches(subject))
    }
}
