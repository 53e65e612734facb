//! `vault.createFile`: a new file, complete or not at all.

use envelope::{Failure, Fault, Idempotency, Observed, Requirement, Risk, SideEffect, VaultPath};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use toolkit::{PathKeys, Reconciled, Tool, ToolCx};

use super::blocking::blocking;
use super::frontmatter;
use super::given_path::GivenPath;
use super::maybe_vault::MaybeVault;
use crate::sandbox::{Seen, Vault, Witness, Written, etag_of};

pub(crate) struct CreateFile {
    pub(crate) vault: MaybeVault,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Args {
    /// File to create, relative to the vault, with `/` between parts and with its extension, such as
    /// `Notes/Idea.md`. Missing folders are created.
    path: GivenPath,
    /// The whole text of the file.
    content: String,
    /// Only create, never replace: an existing file is a CONFLICT. True unless `collisionStrategy` says
    /// something else; false alone means `overwrite`.
    #[serde(default)]
    if_not_exists: Option<bool>,
    /// When the path is taken: `error` fails with CONFLICT, `create-unique` takes the next free name
    /// (`Idea 1.md`), `overwrite` replaces the file. Left out: `error`.
    #[serde(default)]
    collision_strategy: Option<CollisionStrategy>,
    /// Properties to put at the top of the note, as YAML frontmatter. `content` must then not begin with
    /// frontmatter of its own.
    #[serde(default)]
    frontmatter: Option<Map<String, Value>>,
    /// Report what would happen without writing anything.
    #[serde(default)]
    dry_run: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum CollisionStrategy {
    Error,
    CreateUnique,
    Overwrite,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Output {
    /// The file that was written; differs from the asked path when a free name was taken.
    path: String,
    /// False when an existing file was replaced.
    created: bool,
    /// Hash of the content: 32 hex digits.
    etag: String,
    /// When the file was written, in milliseconds since 1970 UTC. Absent on a dry run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "i64")]
    mtime_ms: Option<i64>,
    /// True when nothing was done because `dryRun` was set.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    dry_run: bool,
}

impl Tool for CreateFile {
    const NAME: &'static str = "vault.createFile";
    const SUMMARY: &'static str = "Create a file with the given text, and the folders above it.";
    const CATEGORY: &'static str = "vault";
    const RISK: Risk = Risk::Writes;
    const SIDE_EFFECTS: &'static [SideEffect] =
        &[SideEffect::CreateFile, SideEffect::CreateFolder, SideEffect::ModifyFile];
    const IDEMPOTENCY: Idempotency = Idempotency::NotIdempotent;
    const REQUIRES: &'static [Requirement] = &[Requirement::Vault];

    type Args = Args;
    type Output = Output;

    async fn validate(&self, _cx: &ToolCx, args: &Args) -> Result<(), Fault> {
        args.path.get()?;
        args.strategy()?;
        args.text().map(drop)
    }

    fn paths(&self, args: &Args) -> PathKeys {
        PathKeys { reads: Vec::new(), writes: args.path.reach(&self.vault) }
    }

    fn preview(&self, args: &Args) -> String {
        let size = args.text().map_or(args.content.len(), |text| text.len());
        let path = args.path.shown();
        match args.strategy() {
            Ok(CollisionStrategy::Overwrite) => format!("Create or overwrite {path} ({size} bytes)"),
            Ok(CollisionStrategy::CreateUnique) => {
                format!("Create {path}, or the next free name ({size} bytes)")
            }
            Ok(CollisionStrategy::Error) | Err(_) => format!("Create {path} ({size} bytes)"),
        }
    }

    async fn observe(&self, cx: &ToolCx, args: &Args) -> Vec<Observed> {
        let (Ok(vault), Ok(path), Ok(strategy)) =
            (self.vault.get(), args.path.get().cloned(), args.strategy())
        else {
            return Vec::new();
        };
        blocking(cx, move |witness| before(&vault, &path, strategy, witness)).await.into_iter().collect()
    }

    async fn run(&self, cx: &ToolCx, args: Args) -> Result<Output, Fault> {
        let path = args.path.get()?.clone();
        let strategy = args.strategy()?;
        let text = args.text()?;
        let dry_run = args.dry_run;
        let vault = self.vault.get()?;
        let written = blocking(cx, move |witness| {
            let bytes = text.as_bytes();
            if dry_run {
                return foreseen(&vault, &path, strategy, bytes, witness);
            }
            match strategy {
                CollisionStrategy::Error => vault.create(&path, bytes, witness),
                CollisionStrategy::CreateUnique => vault.create_unique(&path, bytes, witness),
                CollisionStrategy::Overwrite => vault.overwrite(&path, bytes, witness),
            }
        })
        .await?;
        Ok(Output {
            path: written.path.to_string(),
            created: written.created,
            etag: written.etag,
            mtime_ms: written.mtime_ms,
            dry_run,
        })
    }

    async fn reconcile(&self, cx: &ToolCx, args: &Args, before: &[Observed]) -> Reconciled<Output> {
        if args.dry_run {
            return Reconciled::DidNot;
        }
        let unknown = |why: &str| Reconciled::Unknown { why: why.to_owned() };
        let (Ok(strategy), Ok(text), [before]) = (args.strategy(), args.text(), before) else {
            return unknown("what was there before the call is not recorded");
        };
        let Ok(path) = VaultPath::parse(&before.path) else {
            return unknown("the recorded path cannot be read");
        };
        let Ok(vault) = self.vault.get() else {
            return unknown("no vault is open");
        };
        match blocking(cx, move |witness| vault.look(&path, witness)).await {
            Ok(now) => judge(strategy, before, now, etag_of(text.as_bytes())),
            Err(fault) => Reconciled::Unknown { why: fault.message },
        }
    }

    fn summary(&self, output: &Output) -> String {
        let Output { path, created, dry_run, .. } = output;
        match (created, dry_run) {
            (true, false) => format!("Created {path}"),
            (false, false) => format!("Overwrote {path}"),
            (true, true) => format!("Would create {path}"),
            (false, true) => format!("Would overwrite {path}"),
        }
    }

    fn receipt(&self, output: &Output) -> String {
        format!("{} (etag {})", self.summary(output), output.etag)
    }
}

impl Args {
    fn strategy(&self) -> Result<CollisionStrategy, Fault> {
        match (self.collision_strategy, self.if_not_exists) {
            (Some(CollisionStrategy::Overwrite), Some(true)) => Err(Fault::new(
                Failure::InvalidArguments,
                "ifNotExists: true and collisionStrategy: \"overwrite\" contradict each other",
            )
            .hint("leave out ifNotExists to overwrite, or leave out collisionStrategy to only create")),
            (Some(strategy), _) => Ok(strategy),
            (None, Some(false)) => Ok(CollisionStrategy::Overwrite),
            (None, Some(true) | None) => Ok(CollisionStrategy::Error),
        }
    }

    /// The file as it will be written.
    fn text(&self) -> Result<String, Fault> {
        match &self.frontmatter {
            Some(properties) if !properties.is_empty() => frontmatter::on_top(properties, &self.content),
            Some(_) | None => Ok(self.content.clone()),
        }
    }
}

/// Where the file will be and what is there now.
fn before(
    vault: &Vault,
    path: &VaultPath,
    strategy: CollisionStrategy,
    witness: &dyn Witness,
) -> Result<Observed, Fault> {
    let path = match strategy {
        CollisionStrategy::CreateUnique => vault.would_create_unique(path)?,
        CollisionStrategy::Error | CollisionStrategy::Overwrite => path.clone(),
    };
    let etag = match vault.look(&path, witness)? {
        Seen::Nothing => None,
        Seen::File { etag, .. } => Some(etag),
        // The call will fail on it; what matters afterwards is that something was there.
        Seen::Folder | Seen::Other => Some("not-a-file".to_owned()),
    };
    Ok(Observed { path: path.to_string(), etag })
}

fn foreseen(
    vault: &Vault,
    path: &VaultPath,
    strategy: CollisionStrategy,
    bytes: &[u8],
    witness: &dyn Witness,
) -> Result<Written, Fault> {
    let (path, created) = match strategy {
        CollisionStrategy::Error => (vault.would_create(path)?, true),
        CollisionStrategy::CreateUnique => (vault.would_create_unique(path)?, true),
        CollisionStrategy::Overwrite => {
            let (path, before) = vault.would_overwrite(path, witness)?;
            (path, before.is_none())
        }
    };
    Ok(Written { path, etag: etag_of(bytes), mtime_ms: None, created })
}

/// Tells from before and now whether the file was written. Pure.
fn judge(strategy: CollisionStrategy, before: &Observed, now: Seen, intended: String) -> Reconciled<Output> {
    let replaces = match strategy {
        CollisionStrategy::Overwrite => true,
        CollisionStrategy::Error | CollisionStrategy::CreateUnique => false,
    };
    match (&before.etag, now) {
        // What was there was in the way: such a call fails, now as then.
        (Some(_), _) if !replaces => Reconciled::DidNot,
        (None, Seen::Nothing) => Reconciled::DidNot,
        (_, Seen::File { etag, mtime_ms }) if etag == intended => Reconciled::Happened(Output {
            path: before.path.clone(),
            created: before.etag.is_none(),
            etag,
            mtime_ms: Some(mtime_ms),
            dry_run: false,
        }),
        (Some(old), Seen::File { etag, .. }) if etag == *old => Reconciled::DidNot,
        (Some(_), Seen::Nothing) => Reconciled::Unknown { why: format!("`{}` is gone", before.path) },
        (_, Seen::File { .. } | Seen::Folder | Seen::Other) => Reconciled::Unknown {
            why: format!("`{}` holds neither what was there before nor what was to be written", before.path),
        },
    }
}

#[cfg(test)]
mod tests {
    use envelope::Observed;
    use toolkit::Reconciled;

    use super::{CollisionStrategy, judge};
    use crate::sandbox::Seen;

    #[test]
    fn a_crash_between_effect_and_record_is_told_from_one_before_the_effect() {
        let file = |etag: &str| Seen::File { etag: etag.to_owned(), mtime_ms: 7 };
        let check = |strategy, before: Option<&str>, now: Seen| {
            let before = Observed { path: "a.md".to_owned(), etag: before.map(str::to_owned) };
            match judge(strategy, &before, now, "new".to_owned()) {
                Reconciled::Happened(output) => format!("happened, created={}", output.created),
                Reconciled::DidNot => "did not".to_owned(),
                Reconciled::Unknown { why } => format!("unknown: {why}"),
            }
        };
        use CollisionStrategy::{CreateUnique, Error, Overwrite};
        let neither = "unknown: `a.md` holds neither what was there before nor what was to be written";
        for (strategy, before, now, expected) in [
            (Error, None, Seen::Nothing, "did not"),
            (Error, None, file("new"), "happened, created=true"),
            (Error, None, file("other"), neither),
            (Error, None, Seen::Folder, neither),
            (Error, Some("new"), file("new"), "did not"),
            (CreateUnique, None, file("new"), "happened, created=true"),
            (CreateUnique, None, Seen::Nothing, "did not"),
            (Overwrite, None, Seen::Nothing, "did not"),
            (Overwrite, Some("old"), file("old"), "did not"),
            (Overwrite, Some("old"), file("new"), "happened, created=false"),
            (Overwrite, Some("old"), file("other"), neither),
            (Overwrite, Some("old"), Seen::Nothing, "unknown: `a.md` is gone"),
        ] {
            let shown = format!("{strategy:?} {before:?} {now:?}");
            assert_eq!(check(strategy, before, now), expected, "{shown}");
        }
    }
}
