//! The policy of a run: mode, rules and limits. Written into `run.json`; never changes during the run.

use std::num::{NonZeroU32, NonZeroU64};
use std::sync::Arc;

use command_line::{CommandLine, SimpleCommand};
use envelope::{Hash, LimitsSnapshot, PolicySnapshot, SandboxSnapshot, ToolDecl, canonical_hash};
use plan::{CheckLimits, RunLimits, SiblingPolicy};
use serde::{Deserialize, Serialize};
use toolkit::PathKeys;

use crate::approval_source::ApprovalPolicy;
use crate::receipt_limits::ReceiptLimits;
use crate::rules::{BadRule, BuiltInRules, CompiledRule, Rule, RuleEffect, RuleSubject};

/// The default decision about calls that no rule matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Reads run; writes and commands need one approval per plan.
    Ask,
    /// Only reads run, whatever the rules say.
    ReadOnly,
    /// Calls that no rule matches run.
    Trusted,
}

/// Limits of runs and calls. No `Default`: the caller must choose them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PolicyLimits {
    pub max_concurrency: NonZeroU32,
    pub max_attempts: NonZeroU32,
    /// The longest timeout of one call.
    pub call_timeout_ms: NonZeroU64,
    /// A foreach over more items needs another approval.
    pub max_foreach_items: u64,
    pub max_backoff_ms: u64,
    /// The largest output of one call, in bytes.
    pub max_result_bytes: u64,
    /// How long a tool can take to stop after a cancel.
    pub cancel_grace_ms: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Policy {
    pub mode: Mode,
    pub rules: Vec<Rule>,
    /// Declarations of the hooks. Not read by the engine, which gets the hooks themselves; here so that an approval and
    /// a resumed run are bound to them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<String>,
    /// Sandbox settings of commands that differ from the defaults. Not read by the engine, which gets the tools
    /// themselves; here so that an approval and a resumed run are bound to them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<String>,
    /// Declarations of the servers whose tools can be called. Not read by the engine either; here so that an approval
    /// and a resumed run are bound to them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<String>,
    /// Where approvals must come from.
    #[serde(default, skip_serializing_if = "ApprovalPolicy::is_default")]
    pub approval: ApprovalPolicy,
    pub limits: PolicyLimits,
    #[serde(default)]
    pub receipts: ReceiptLimits,
    pub sibling_failure: SiblingPolicy,
}

impl Policy {
    /// The default policy of a vault without settings.
    pub fn cautious() -> Policy {
        Policy {
            mode: Mode::Ask,
            rules: Vec::new(),
            hooks: Vec::new(),
            commands: Vec::new(),
            servers: Vec::new(),
            approval: ApprovalPolicy::default(),
            limits: PolicyLimits {
                max_concurrency: NonZeroU32::MIN.saturating_add(7),
                max_attempts: NonZeroU32::MIN.saturating_add(4),
                call_timeout_ms: NonZeroU64::MIN.saturating_add(600_000 - 1),
                max_foreach_items: 1000,
                max_backoff_ms: 60_000,
                max_result_bytes: 16 * 1024 * 1024,
                cancel_grace_ms: 1000,
            },
            receipts: ReceiptLimits::default(),
            sibling_failure: SiblingPolicy::Ignore,
        }
    }

    pub fn hash(&self) -> Hash {
        canonical_hash(&serde_json::to_value(self).unwrap_or_default())
    }

    /// Returns the limits of the static check of plans.
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

    /// Returns the part that every call carries.
    pub(crate) fn snapshot(&self) -> Arc<PolicySnapshot> {
        Arc::new(PolicySnapshot {
            confirmations_required: self.mode == Mode::Ask,
            sandbox: SandboxSnapshot::of_vault(),
            limits: LimitsSnapshot {
                max_concurrency: self.limits.max_concurrency.get(),
                max_attempts: Some(self.limits.max_attempts.get()),
                call_timeout_ms: Some(self.limits.call_timeout_ms.get()),
                max_foreach_items: Some(self.limits.max_foreach_items),
            },
        })
    }
}

/// A policy with its globs compiled.
pub(crate) struct CompiledPolicy {
    pub(crate) policy: Policy,
    rules: Vec<CompiledRule>,
    built_ins: BuiltInRules,
}

/// Decision of the rules and the mode about one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RuleDecision {
    Allow {
        why: String,
    },
    /// Every reason to ask: an approval of one does not answer another.
    Ask {
        reasons: Vec<AskReason>,
    },
    Deny {
        why: String,
    },
    /// The mode forbids calls of this risk.
    Blocked {
        why: String,
    },
}

/// Why a call needs an approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AskReason {
    pub(crate) why: String,
    /// Whether the approval of the plan answers it. The user saw which tools the plan uses; a path may be known only
    /// while the plan runs, and a hook decides about this very call.
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
        let built_ins = BuiltInRules::compile().map_err(|what| BadRule { number: 0, what })?;
        Ok(CompiledPolicy { policy, rules, built_ins })
    }

    /// Returns the first deny rule that matches. A line that is too long to be judged is denied too: a question about
    /// it would ask for the approval of something unread.
    pub(crate) fn denied(&self, subject: RuleSubject<'_>) -> Option<String> {
        if let Some(CommandLine { over_limit: true, opaque: Some(why), .. }) = subject.command {
            return Some(format!("the limit on commands ({why})"));
        }
        self.matching(RuleEffect::Deny, subject).next().map(CompiledRule::label)
    }

    /// Returns false if every call of the tool with effects is refused, whatever its arguments.
    pub(crate) fn may_permit(&self, tool: &ToolDecl) -> bool {
        let paths = &PathKeys::default();
        let subject = RuleSubject { tool, paths, command: None, dry_run: false };
        self.denied(subject).is_none()
            && (self.policy.mode != Mode::ReadOnly || !tool.risk_level.has_effects())
    }

    /// Decides about a call, in this order: deny, the mode `read-only`, ask, allow, the mode's default.
    pub(crate) fn opinion(&self, subject: RuleSubject<'_>) -> RuleDecision {
        if let Some(why) = self.denied(subject) {
            return RuleDecision::Deny { why };
        }
        let effects = subject.tool.risk_level.has_effects() && !subject.dry_run;
        if self.policy.mode == Mode::ReadOnly && effects {
            return RuleDecision::Blocked { why: "mode read-only".to_owned() };
        }
        let allowed = self.allowed(subject);
        let mut reasons: Vec<AskReason> = self
            .matching(RuleEffect::Ask, subject)
            .map(|rule| AskReason { why: rule.label(), by_plan: !rule.has_paths() })
            .collect();
        reasons
            .extend(self.command_reasons(subject).into_iter().map(|why| AskReason { why, by_plan: false }));
        if effects && allowed.is_none() && self.policy.mode == Mode::Ask {
            // Also if a rule asks: a remembered approval for that rule must not answer for the mode.
            reasons.push(AskReason { why: "mode ask".to_owned(), by_plan: true });
        }
        if !reasons.is_empty() {
            return RuleDecision::Ask { reasons };
        }
        let why = match (allowed, self.policy.mode) {
            (Some(by), _) => by,
            (None, Mode::Ask) => "mode ask, read-only".to_owned(),
            (None, Mode::ReadOnly) => "mode read-only".to_owned(),
            (None, Mode::Trusted) => "mode trusted".to_owned(),
        };
        RuleDecision::Allow { why }
    }

    /// Returns the rules that allow the call. A line of commands is allowed if each command is, by any rule.
    fn allowed(&self, subject: RuleSubject<'_>) -> Option<String> {
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

    /// Returns the rule that allows one command of the call.
    fn allows_command(
        &self,
        subject: RuleSubject<'_>,
        line: &CommandLine,
        command: &SimpleCommand,
    ) -> Option<&CompiledRule> {
        self.rules.iter().find(|rule| rule.allows_command(subject, line, command))
    }

    /// Returns why a restricting rule could apply to a command of the line although its words do not match.
    fn unreadable_reason(&self, subject: RuleSubject<'_>, line: &CommandLine) -> Option<String> {
        if let Some(why) = &line.opaque {
            return Some(format!("the line cannot be read in full ({why})"));
        }
        // Unless a rule that allows the file names it.
        let is_unknown = |command: &&SimpleCommand| {
            command.is_by_path() && self.allows_command(subject, line, command).is_none()
        };
        let program = line.commands.iter().find(is_unknown)?.argv.first()?;
        Some(format!("`{program}` may be a copy of any program, or a link to it"))
    }

    /// Returns the reasons to ask about a command that neither the mode nor another rule answers.
    fn command_reasons(&self, subject: RuleSubject<'_>) -> Vec<String> {
        let Some(line) = subject.command else {
            return Vec::new();
        };
        let mut command_reasons = self.built_ins.objections(line);
        if let Some(rule) = self.rules.iter().find(|rule| rule.could_restrict(subject))
            && let Some(why) = self.unreadable_reason(subject, line)
        {
            command_reasons.push(format!("{} may be meant: {why}", rule.label()));
        }
        command_reasons
    }

    /// Whether a plan with these tools needs a confirmation before it starts. The commands are those that are literals
    /// in the plan.
    ///
    /// Paths are not known yet: a rule with paths is applied when a call with such a path comes.
    pub(crate) fn needs_confirmation<'t>(
        &self,
        steps: impl IntoIterator<Item = (&'t ToolDecl, Option<CommandLine>)>,
    ) -> bool {
        let paths = &PathKeys::default();
        steps.into_iter().any(|(tool, command)| {
            let subject = RuleSubject { tool, paths, command: command.as_ref(), dry_run: false };
            matches!(self.opinion(subject), RuleDecision::Ask { .. })
        })
    }

    fn matching<'a>(
        &'a self,
        effect: RuleEffect,
        subject: RuleSubject<'a>,
    ) -> impl Iterator<Item = &'a CompiledRule> {
        self.rules.iter().filter(move |rule| rule.rule.effect == effect && rule.matches(subject))
    }
}
