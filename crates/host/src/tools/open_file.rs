//! `workspace.openFile`: a file of the vault in a leaf.

use envelope::{
    Concurrency, Failure, Fault, Idempotency, ReceiptFamily, Requirement, Risk, SideEffect, VaultChange,
    VaultPath,
};
use receipts::families::workspace::{self, WorkspaceOutput};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolkit::{PathKeys, PathScope, ProjectedResult, Projection, ReconcileOutcome, Tool, ToolCx};
use vault::run_blocking;

use super::host_handle::HostHandle;
use crate::protocol::OpenRequest;

pub(crate) struct OpenFile {
    pub(crate) host: HostHandle,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Args {
    /// File to open, relative to the vault, with `/` between parts and with its extension. It must exist.
    #[schemars(with = "VaultPath")]
    path: String,
    /// Open it in a leaf of its own, even if it is open already. Else the active leaf shows it.
    #[serde(default)]
    new_leaf: bool,
    /// Give it the focus, so that the editor tools work on it. False leaves the active leaf as it is.
    #[serde(default = "focus_by_default")]
    focus: bool,
    /// Report what would happen without opening it.
    #[serde(default)]
    dry_run: bool,
}

fn focus_by_default() -> bool {
    true
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Output {
    /// The file as it is spelled on disk.
    path: String,
    /// False when it was open already, and on a dry run.
    opened: bool,
    /// The leaf that shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    leaf_id: Option<String>,
    /// True when nothing was done because `dryRun` was set.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    dry_run: bool,
}

impl Args {
    fn path(&self) -> Result<VaultPath, Fault> {
        VaultPath::parse(&self.path).map_err(|bad| {
            Fault::new(Failure::InvalidArguments, bad.to_string()).detail("rule", bad.rule.as_str())
        })
    }
}

impl Tool for OpenFile {
    const NAME: &'static str = "workspace.openFile";
    const SUMMARY: &'static str = "Open a file of the vault, so that it can be seen and edited.";
    const CATEGORY: &'static str = "workspace";
    const FAMILY: ReceiptFamily = ReceiptFamily::Workspace;
    const RISK: Risk = Risk::Writes;
    const SIDE_EFFECTS: &'static [SideEffect] = &[SideEffect::ChangeWorkspace];
    const IDEMPOTENCY: Idempotency = Idempotency::Idempotent;
    const REQUIRES: &'static [Requirement] = &[Requirement::Host];
    const CONCURRENCY: Concurrency = Concurrency::Serial;

    type Args = Args;
    type Output = Output;

    async fn validate(&self, _cx: &ToolCx, args: &Args) -> Result<(), Fault> {
        args.path().map(drop)
    }

    fn paths(&self, args: &Args) -> PathKeys {
        let Ok(given) = args.path() else { return PathKeys::default() };
        // If the path is a link, rules see both ends.
        let vault = self.host.get().ok().map(|host| host.vault());
        let real = vault.and_then(|vault| vault.real_path(&given)).filter(|real| *real != given);
        let reads = std::iter::once(given).chain(real).map(PathScope::Path).collect();
        PathKeys { reads, writes: Vec::new() }
    }

    fn is_dry_run(&self, args: &Args) -> bool {
        args.dry_run
    }

    fn preview(&self, args: &Args) -> String {
        format!("Open {}", args.path.escape_debug())
    }

    async fn run(&self, cx: &ToolCx, args: Args) -> Result<Output, Fault> {
        if args.dry_run {
            let (vault, path) = (self.host.get()?.vault().clone(), args.path()?);
            // Fails for a file that does not exist.
            let path = run_blocking(cx, move |io| Ok(vault.read(&path, 0..0, io)?.path)).await?;
            return Ok(Output { path: path.to_string(), opened: false, leaf_id: None, dry_run: true });
        }
        let request = OpenRequest { path: args.path()?, new_leaf: args.new_leaf, focus: args.focus };
        let opened = self.host.get()?.open_file(cx, request).await?;
        cx.observed(SideEffect::ChangeWorkspace);
        Ok(Output {
            path: opened.path.to_string(),
            opened: opened.opened,
            leaf_id: opened.leaf_id,
            dry_run: false,
        })
    }

    async fn reconcile(
        &self,
        _cx: &ToolCx,
        _args: &Args,
        _intent: &[VaultChange],
    ) -> ReconcileOutcome<Output> {
        // Opening the same file again changes nothing more.
        ReconcileOutcome::DidNot { taken_back: 0 }
    }

    fn summary(&self, output: &Output) -> String {
        let Output { path, opened, dry_run, .. } = output;
        if *dry_run {
            return format!("Would open {path}");
        }
        if *opened { format!("Opened {path}") } else { format!("{path} was open already") }
    }

    fn project(&self, output: &Output, with: &mut Projection<'_>) -> Result<ProjectedResult, Fault> {
        let Output { path, opened, leaf_id, .. } = output;
        let opened = workspace::OpenFileReport { path, opened: *opened, leaf_id: leaf_id.as_deref() };
        workspace::project(&WorkspaceOutput::Opened(opened), with)
    }
}
