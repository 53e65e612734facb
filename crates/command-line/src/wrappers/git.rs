//! `git`: settings on the command line can name programs, and some subcommands take one.

use super::{InnerCommand, WrapperCall, joined, values_of};
use crate::option_table::is_option;

/// Subcommands that come with git, which no alias can replace. Any other one may be an alias for a shell command.
const COMMANDS: &str = "add am annotate apply archive bisect blame branch bugreport bundle cat-file check-attr \
     check-ignore check-mailmap check-ref-format checkout checkout-index cherry cherry-pick clean clone column commit \
     commit-graph commit-tree config count-objects credential daemon describe diagnose diff diff-files diff-index \
     diff-tree difftool fast-export fast-import fetch fetch-pack filter-branch fmt-merge-msg for-each-ref \
     for-each-repo format-patch fsck gc get-tar-commit-id grep hash-object help hook index-pack init instaweb \
     interpret-trailers log ls-files ls-remote ls-tree mailinfo mailsplit maintenance merge merge-base merge-file \
     merge-index merge-tree mergetool mktag mktree multi-pack-index mv name-rev notes p4 pack-objects pack-refs \
     patch-id prune prune-packed pull push range-diff read-tree rebase reflog remote repack replace request-pull \
     rerere reset restore rev-list rev-parse revert rm send-email send-pack shortlog show show-branch show-index \
     show-ref sparse-checkout stage stash status stripspace submodule svn switch symbolic-ref tag unpack-file \
     unpack-objects update-index update-ref update-server-info upload-pack var verify-commit verify-pack verify-tag \
     version whatchanged worktree write-tree";

/// Subcommands that start other programs.
const STARTERS: [&str; 8] =
    ["filter-branch", "difftool", "mergetool", "send-email", "instaweb", "svn", "p4", "daemon"];

/// Options before the subcommand that take the next word.
const VALUES: [&str; 5] = ["-C", "--git-dir", "--work-tree", "--namespace", "--super-prefix"];

/// Options of subcommands that start another program.
const RUNS: [(&[&str], &[&str]); 8] = [
    (&["clone"], &["-u", "-c", "--upload-pack", "--config", "--template"]),
    (&["fetch", "pull", "ls-remote", "fetch-pack"], &["--upload-pack"]),
    (&["push", "send-pack"], &["--receive-pack", "--exec"]),
    (&["archive"], &["--exec", "--remote"]),
    (&["grep"], &["-O", "--open-files-in-pager"]),
    (&["init"], &["--template"]),
    (&["diff", "log", "show", "blame"], &["--ext-diff"]),
    (&["config"], &["-e", "--edit"]),
];

/// Options of subcommands that write in unexpected places.
const REACHES: [(&[&str], &[&str]); 3] = [
    (&["diff", "log", "show"], &["--output"]),
    (&["archive", "format-patch"], &["-o", "--output", "--output-directory"]),
    (&["clone", "fetch", "pull"], &["--recurse-submodules"]),
];

/// Whether the first operand of the program is a subcommand.
pub(super) fn has_subcommands(family: &str) -> bool {
    family == "git"
}

pub(super) fn inner_commands(call: WrapperCall<'_>) -> Option<Vec<InnerCommand>> {
    if call.family != "git" {
        return None;
    }
    let read = GitInvocation::read(call.words);
    let mut inner = Vec::new();
    if let Some(setting) = read.setting {
        inner.push(InnerCommand::hidden(format!("`{setting}` can have `git` start any program")));
    }
    if call.words.iter().any(|word| word.starts_with("ext::")) {
        inner.push(InnerCommand::hidden("an address (ext::) that has `git` start a program"));
    }
    match (read.verb, read.rest) {
        ("rebase", rest) => {
            for option in ["-x", "--exec"] {
                let by = format!("git rebase {option}");
                let texts = values_of(rest, option).into_iter();
                inner.extend(texts.map(|text| InnerCommand::Text { by: by.clone(), text: text.to_owned() }));
            }
        }
        ("bisect", [run, argv @ ..]) if run == "run" => {
            inner.push(InnerCommand::Command { by: "git bisect run".to_owned(), argv: argv.to_vec() });
        }
        ("submodule", rest) if rest.iter().any(|word| word == "foreach") => {
            let text = rest.iter().skip_while(|word| *word != "foreach").skip(1);
            let text: Vec<String> = text.skip_while(|word| word.starts_with('-')).cloned().collect();
            inner.push(InnerCommand::Text { by: "git submodule foreach".to_owned(), text: joined(&text) });
        }
        _ => {}
    }
    if !read.verb.is_empty() && !COMMANDS.split_ascii_whitespace().any(|known| known == read.verb) {
        inner.push(InnerCommand::hidden(format!("`git {}` may be an alias for any command", read.verb)));
    }
    if STARTERS.contains(&read.verb) {
        inner.push(InnerCommand::hidden(format!("`git {}` starts other programs", read.verb)));
    }
    if let Some(option) = read.first_of(&RUNS) {
        inner.push(InnerCommand::hidden(format!("`{option}` has `git {}` start something else", read.verb)));
    }
    Some(inner)
}

/// Returns the word that lets git access more than its subcommand says.
pub(crate) fn reaches_further(words: &[String]) -> Option<&str> {
    let read = GitInvocation::read(words);
    read.place.or_else(|| read.first_of(&REACHES))
}

struct GitInvocation<'a> {
    /// `-c` and similar options.
    setting: Option<&'a str>,
    /// An option that selects another repository, which has its own settings.
    place: Option<&'a str>,
    verb: &'a str,
    rest: &'a [String],
}

impl<'a> GitInvocation<'a> {
    fn read(words: &'a [String]) -> GitInvocation<'a> {
        let mut read = GitInvocation { setting: None, place: None, verb: "", rest: &[] };
        let mut at = 0;
        while let Some(word) = words.get(at).filter(|word| word.starts_with('-')) {
            let name = word.split_once('=').map_or(word.as_str(), |(name, _)| name);
            if (word.starts_with("-c") && !word.starts_with("-C"))
                || name == "--config-env"
                || word.starts_with("--exec-path=")
            {
                read.setting = read.setting.or(Some(word));
            }
            if VALUES.contains(&name) {
                read.place = read.place.or(Some(word));
            }
            let takes_next =
                VALUES.contains(&word.as_str()) || matches!(word.as_str(), "-c" | "--config-env");
            at += 1 + usize::from(takes_next);
        }
        if let Some(verb) = words.get(at) {
            (read.verb, read.rest) = (verb, &words[at + 1..]);
        }
        read
    }

    fn first_of(&self, table: &[(&[&str], &[&str])]) -> Option<&'a str> {
        let options =
            table.iter().filter(|(verbs, _)| verbs.contains(&self.verb)).flat_map(|(_, options)| *options);
        let options: Vec<&str> = options.copied().collect();
        self.rest.iter().find(|word| options.iter().any(|option| is_option(word, option))).map(String::as_str)
    }
}
