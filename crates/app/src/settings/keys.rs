//! Every settings key (config key) of the settings file (`.tollgate/config.toml`), with its default and its meaning.
//!
//! The list of names, defaults and texts: `init` writes the file from it, misspelt keys are found by it, and two golden
//! files hold it (`tests/data/settings.txt` here, `tests/it/data/config.toml` of the binary), so that a new key shows in
//! review. To add a key, also add its field in `file.rs` (hooks: `hook.rs`; receipts: `receipts.rs`; rules and approval:
//! `engine`; limits: `engine` and `LimitsTable` in `file.rs`; commands: `shell` and `commands.rs`; servers: `mcp-client`
//! and `servers.rs`), its comparison in `trust/comparison.rs` or `trust/command_differences.rs`, and update the golden
//! files. A new section also needs `section_comment`, and a table in `Settings::parse`. Add a key only if a user asked
//! for it.

use std::fmt::Write as _;

use envelope::nearest;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// One key. `section` is empty for keys at the top.
pub(super) struct SettingsKey {
    pub(super) section: &'static str,
    pub(super) name: &'static str,
    /// Default as it would be written; for `rules` and `hooks`, an example.
    pub(super) value: &'static str,
    pub(super) doc: &'static str,
}

const fn key(
    section: &'static str,
    name: &'static str,
    value: &'static str,
    doc: &'static str,
) -> SettingsKey {
    SettingsKey { section, name, value, doc }
}

pub(super) const KEYS: &[SettingsKey] = &[
    key(
        "",
        "mode",
        "\"ask\"",
        "Effect on a call that no rule matches: \"ask\" (reads run, a plan with writes or commands needs one approval), \"read-only\" (only reads run) or \"trusted\" (every call that no rule denies runs).",
    ),
    key(
        "",
        "state",
        "\".tollgate\"",
        "The folder of runs and large results, relative to the vault; `~/` is your home folder. Set it to move them out of a synced vault, which takes effect after `tollgate trust`; elsewhere in the vault, tools could reach them.",
    ),
    key(
        "",
        "sibling_failure",
        "\"ignore\"",
        "Effect of a failed item of a foreach on the items after it: \"ignore\" (every item is attempted), \"cancel-siblings\" (items run one after another, and none after the first failure) or \"cancel-dependents\" (no later item on the same paths).",
    ),
    key("limits", "max_concurrency", "8", "Calls that run at the same time."),
    key("limits", "max_attempts", "5", "Attempts at one call, the first included, whatever a plan asks for."),
    key("limits", "call_timeout_ms", "600000", "Longest time limit of one call."),
    key(
        "limits",
        "max_foreach_items",
        "1000",
        "A foreach over more items than this asks again before it starts.",
    ),
    key("limits", "max_backoff_ms", "60000", "Longest wait between two attempts."),
    key("limits", "max_result_bytes", "16777216", "Largest output of one call that is recorded."),
    key("limits", "cancel_grace_ms", "1000", "Time for a cancelled call to stop."),
    key(
        "receipts",
        "max_tokens",
        "20000",
        "Largest budget in tokens of a receipt, the text that a model reads of a call. A call cannot ask for more.",
    ),
    key("receipts", "command", "2400", "Default budget of a receipt of this family: a command that ran."),
    key("receipts", "task", "2400", "The state of a background task."),
    key("receipts", "mutation", "500", "Files that were made, changed or removed."),
    key("receipts", "read", "7000", "The content of a file."),
    key("receipts", "listing", "3000", "Names of files."),
    key("receipts", "search", "3000", "Search matches."),
    key("receipts", "links", "3000", "Links between notes, and renames."),
    key("receipts", "editor", "1000", "The open note and its selection."),
    key("receipts", "workspace", "500", "Open files and views."),
    key("receipts", "host_command", "500", "Commands of the host application."),
    key("receipts", "text", "1500", "Parsed or generated text."),
    key("receipts", "artifact", "7000", "A part of an artifact."),
    key("receipts", "external", "1500", "Tools of other servers."),
    key(
        "commands",
        "sandbox",
        "\"required\"",
        "\"required\": a command runs in a sandbox or not at all. \"off\": it runs with your permissions, and its record says so.",
    ),
    key("commands", "network", "false", "Whether commands reach the network."),
    key(
        "commands",
        "readable",
        "[]",
        "Folders outside of the vault that commands can read, such as \"~/.cargo\". The programs of the system are readable anyway, your home folder is not.",
    ),
    key(
        "commands",
        "env",
        "[]",
        "Names of environment variables that commands get from you. Others are not passed on, so no secret either.",
    ),
    key("commands", "path", "\"/usr/local/bin:/usr/bin:/bin\"", "Where commands find programs."),
    key(
        "commands",
        "memory_mb",
        "4096",
        "Memory limit of a command. `tollgate doctor` says whether that holds for all its processes together or for each of them.",
    ),
    key("commands", "processes", "512", "Process limit of one command."),
    key("commands", "open_files", "1024", "Open-file limit of one process."),
    key("commands", "output_mb", "16384", "Output limit of one command, after which it is stopped."),
    key("commands", "file_mb", "16384", "Size limit of a file that a command writes."),
    key(
        "commands",
        "execute_vault_files",
        "false",
        "Whether a command that an allow rule permits without a question can execute any file of the vault, as `make` or `npm test` can need. Unless true it executes only the file that it names, such as ./build.sh. A command that you approve yourself can execute all of them. Interpreters read files rather than execute them, so this does not hold them back.",
    ),
    key(
        "approval",
        "writes",
        "\"client\"",
        "Who approves a write of an MCP client: \"client\" (the client asks its user, and its answer is accepted) or \"person\" (you, at the terminal or with `tollgate approve`; no client can answer for you).",
    ),
    key("approval", "commands", "\"client\"", "The same for commands and for tools of other servers."),
    key(
        "rules",
        "effect",
        "\"deny\"",
        "\"deny\", \"ask\" or \"allow\". Deny wins over ask, ask over allow, and a rule over the mode. The exception is the mode read-only, which no rule can loosen.",
    ),
    key("rules", "tools", "[\"vault.*\"]", "Globs over tool names. Left out: every tool."),
    key(
        "rules",
        "paths",
        "[\"Private/**\"]",
        "Globs over vault paths. Left out: every path. An allow rule needs all paths of a call to match, the others one.",
    ),
    key(
        "rules",
        "risk",
        "\"writes\"",
        "\"read-only\", \"writes\" or \"commands\": an allow rule reaches up to it, the others start at it.",
    ),
    key(
        "rules",
        "command",
        "[\"git\", [\"push\", \"fetch\"]]",
        "The program of a command and the words that follow it, each a word or a list of alternatives. A command is allowed only by a rule with `command`, and a line only when every command in it is. An allow rule covers exactly its words, and further ones that are known to be harmless (such as `git log --oneline`); \"*\" matches one more word, \"...\" at the end for any number, at your risk. What runs any command it is given (a shell, env, sudo) cannot be allowed. A rule that asks or denies needs one command of the line, with any words behind it.",
    ),
    key(
        "rules",
        "workdir",
        "[\"scripts\"]",
        "Globs over folders of the vault, \".\" for its root, in which an allow rule covers its command. Left out: the root alone, because the same words can run another file elsewhere.",
    ),
    key(
        "rules",
        "stdin",
        "true",
        "Whether an allow rule covers a command that gets input, by the call or by a pipe. Left out: it does not, because some programs run what they read. Commands that are known to be harmless can follow a pipe anyway.",
    ),
    key(
        "rules",
        "tty",
        "true",
        "Whether an allow rule covers a command with a terminal. Left out: it does not.",
    ),
    key(
        "rules",
        "env",
        "[\"NO_COLOR\"]",
        "Names of variables that a call can set and still be covered by an allow rule. Left out: none.",
    ),
    key(
        "rules",
        "match",
        "[\"git push origin main\"]",
        "Command lines that the rule must match. They are tried when it is loaded; a rule that allows or denies needs one here and one in `not_match`.",
    ),
    key("rules", "not_match", "[\"git status\"]", "Command lines that the rule must not match."),
    key("rules", "reason", "\"private notes\"", "Shown when the rule applies."),
    key("hooks", "name", "\"guard\"", "How messages name the hook."),
    key(
        "hooks",
        "command",
        "[\".tollgate/guard.sh\"]",
        "The program and its arguments, run without a shell: JSON on its standard input, JSON on its standard output. It runs in the vault, so paths are seen from there, and only after `tollgate trust`.",
    ),
    key("hooks", "when", "\"before\"", "\"before\", \"after\" or \"both\"."),
    key(
        "hooks",
        "timeout_ms",
        "5000",
        "A hook that has not answered by then has failed: before a call, the call is not made; after it, its result is withheld.",
    ),
    key("hooks", "tools", "[\"vault.*\"]", "Globs over tool names. Left out: every tool."),
    key(
        "servers",
        "command",
        "[\"server-filesystem\", \"/home/me/Notes\"]",
        "The program and its arguments, for a server that is started here: in the sandbox of commands, in an empty folder of its own, so write paths in full. Give this or `url`.",
    ),
    key(
        "servers",
        "url",
        "\"https://example.org/mcp\"",
        "Where it listens, for a server that runs elsewhere. Give this or `command`.",
    ),
    key(
        "servers",
        "env",
        "[]",
        "Variables of the program: `NAME` passes yours on, `NAME=value` sets one. Unless named here it gets none of yours, so no secret either; name a secret without its value.",
    ),
    key(
        "servers",
        "token_env",
        "\"EXAMPLE_TOKEN\"",
        "The name of the variable that holds the bearer token for the `url`, which is then `https` or on this machine.",
    ),
    key("servers", "timeout_ms", "60000", "How long one call may take."),
    key("servers", "network", "false", "Whether the program reaches the network."),
    key(
        "servers",
        "readable",
        "[]",
        "Folders outside of the vault that the program may read, such as the one it is installed in.",
    ),
    key(
        "servers",
        "writable",
        "[]",
        "Folders outside of the vault that the program may change, such as one for its database. They must exist; what it changes there is neither recorded nor undone.",
    ),
    key(
        "servers",
        "trust_hints",
        "false",
        "Whether the server is believed when it calls a tool read-only or idempotent. Unless it is, every call of its tools counts as a command.",
    ),
    key("servers", "max_output_bytes", "4194304", "The largest result of one call that is taken."),
];

/// Budgets of receipts, which a model reads.
const RECEIPTS: &str = "receipts";

/// Sections that can occur several times, each time as one more entry.
const REPEATED_SECTIONS: [&str; 2] = ["rules", "hooks"];

/// Sections whose tables have names that you choose.
const NAMED_SECTIONS: [&str; 1] = ["servers"];

/// Returns the first unknown key: its offset, and a message with the nearest known key.
pub(super) fn unknown_key(table: &DeTable<'_>) -> Option<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    for (name, value) in table {
        if let Some(what) = unknown_key_message("", name.get_ref()) {
            found.push((name.span().start, what));
            continue;
        }
        for entry in entries(name.get_ref(), value.get_ref()) {
            for key in entry.keys() {
                if let Some(what) = unknown_key_message(name.get_ref(), key.get_ref()) {
                    found.push((key.span().start, what));
                }
            }
        }
    }
    found.into_iter().min()
}

/// Returns the message about a value of the wrong type: the key whose value contains `at`, as it can be written.
pub(super) fn wrong_value(table: &DeTable<'_>, at: usize, text: &str) -> Option<String> {
    let around = |value: &Spanned<DeValue<'_>>| value.span().contains(&at);
    let written = |value: &Spanned<DeValue<'_>>| text.get(value.span()).unwrap_or_default().to_owned();
    for (section, value) in table {
        // The span of a section is its header only, so its keys are tried first.
        for entry in entries(section.get_ref(), value.get_ref()) {
            if let Some((key, value)) = entry.iter().find(|(_, value)| around(value)) {
                return explain(section.get_ref(), key.get_ref(), &written(value));
            }
        }
        let holds = value.get_ref().as_table().is_some_and(|table| table.values().any(around));
        if around(value) || holds {
            return explain("", section.get_ref(), &written(value))
                .or_else(|| section_hint(section.get_ref()));
        }
    }
    None
}

fn explain(section: &str, name: &str, written: &str) -> Option<String> {
    let key = KEYS.iter().find(|key| key.section == section && key.name == name)?;
    Some(format!(
        "`{}` cannot be {written}; write it like `{name} = {}`. {}",
        qualified_name(section, name),
        key.value,
        key.doc
    ))
}

/// Returns the hint for a section that was written as a value.
fn section_hint(section: &str) -> Option<String> {
    let first = KEYS.iter().find(|key| key.section == section)?;
    let example = format!("`{} = {}`", first.name, first.value);
    Some(if REPEATED_SECTIONS.contains(&section) {
        format!(
            "`{section}` is a list of tables: write `[[{section}]]` for each, and its keys below, like {example}"
        )
    } else if NAMED_SECTIONS.contains(&section) {
        format!(
            "`{section}` is a table of tables: write `[{section}.NAME]` for each, and its keys below, like {example}"
        )
    } else {
        format!("`{section}` is a table: write `[{section}]`, and its keys below, like {example}")
    })
}

fn qualified_name(section: &str, name: &str) -> String {
    if section.is_empty() { name.to_owned() } else { format!("{section}.{name}") }
}

/// Returns the tables of a section, whether it is written once, as a list, or with a name for each.
fn entries<'a, 'i>(section: &str, value: &'a DeValue<'i>) -> Vec<&'a DeTable<'i>> {
    match (value.as_table(), value.as_array()) {
        (Some(table), _) if NAMED_SECTIONS.contains(&section) => {
            table.values().filter_map(|entry| entry.get_ref().as_table()).collect()
        }
        (Some(table), _) => vec![table],
        (None, Some(list)) => list.iter().filter_map(|item| item.get_ref().as_table()).collect(),
        (None, None) => Vec::new(),
    }
}

fn unknown_key_message(section: &str, name: &str) -> Option<String> {
    let known = known_in(section);
    if known.contains(&name) {
        return None;
    }
    let hint = match nearest(name, known.iter().copied()) {
        Some(meant) => format!("did you mean `{}`?", qualified_name(section, meant)),
        None => format!("the keys are {}", join_names(&known)),
    };
    Some(format!("`{}` is not a key; {hint}", qualified_name(section, name)))
}

/// Returns the known names in a section; at the top, also those of the sections.
fn known_in(section: &str) -> Vec<&'static str> {
    let mut known: Vec<&str> = KEYS.iter().filter(|key| key.section == section).map(|key| key.name).collect();
    if section.is_empty() {
        for key in KEYS {
            if !key.section.is_empty() && !known.contains(&key.section) {
                known.push(key.section);
            }
        }
    }
    known
}

fn join_names(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        Some((only, _)) => only.clone(),
        None => String::new(),
    }
}

/// Returns the settings file that `init` writes: every key explained, with its default.
pub fn template() -> String {
    let mut text = String::from(
        "# Settings of Tollgate for this vault. Every key is here with the value that holds unless you change it.\n\
         # `tollgate doctor` checks this file.\n",
    );
    let mut section = "";
    for key in KEYS {
        if key.section != section {
            section = key.section;
            let head = if REPEATED_SECTIONS.contains(&section) {
                format!("# [[{section}]]")
            } else if NAMED_SECTIONS.contains(&section) {
                format!("# [{section}.NAME]")
            } else {
                format!("[{section}]")
            };
            let _infallible = write!(text, "\n{}{head}\n", section_comment(section));
        }
        let off = if is_commented_out(key) { "# " } else { "" };
        let gap = if section.is_empty() { "\n" } else { "" };
        let _infallible = writeln!(text, "{gap}{}{off}{} = {}", comment_lines(key.doc), key.name, key.value);
    }
    text
}

/// Returns true if `init` writes the key as a comment: keys without a default, and the budgets, which belong to their
/// families.
fn is_commented_out(key: &SettingsKey) -> bool {
    REPEATED_SECTIONS.contains(&key.section)
        || NAMED_SECTIONS.contains(&key.section)
        || key.name == "state"
        || (key.section == RECEIPTS && key.name != "max_tokens")
}

fn section_comment(section: &str) -> &'static str {
    match section {
        RECEIPTS => "# How long receipts may be, in tokens.\n",
        "approval" => "# Who approves calls.\n",
        "rules" => "# Rules: as many as you like, each under its own [[rules]].\n",
        "commands" => {
            "# What commands can reach. Settings that relax their sandbox take effect only after `tollgate trust`.\n"
        }
        "servers" => {
            "# Servers: tools of others over MCP, each server under a name of its own. They can be called after\n\
             # `tollgate trust` and, when you have looked at what it offers, `tollgate servers approve NAME`.\n"
        }
        "hooks" => {
            "# Hooks: programs that see calls and can add context, change, tighten or stop them, never loosen.\n"
        }
        _ => "",
    }
}

/// Returns comment lines that fit a screen.
fn comment_lines(doc: &str) -> String {
    let mut text = String::new();
    let mut line = String::from("#");
    for word in doc.split(' ') {
        if line.len() + 1 + word.len() > 100 {
            text.push_str(&line);
            text.push('\n');
            "#".clone_into(&mut line);
        }
        line.push(' ');
        line.push_str(word);
    }
    text.push_str(&line);
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use envelope::ReceiptFamily;
    use expect_test::expect_file;

    use super::{KEYS, RECEIPTS, template};
    use crate::settings::file;

    #[test]
    fn every_key_stands_in_the_golden_file() {
        let lines = KEYS.iter().map(|key| {
            let section = if key.section.is_empty() { String::new() } else { format!("{}.", key.section) };
            format!("{section}{} = {}\n    {}\n", key.name, key.value, key.doc)
        });
        expect_file!["../../tests/data/settings.txt"].assert_eq(&lines.collect::<String>());
    }

    #[test]
    fn the_file_that_init_writes_is_the_cautious_policy() {
        let settings = super::super::Settings::parse(&template(), std::path::Path::new("/vault")).unwrap();
        assert_eq!(settings.policy, engine::Policy::cautious());
        assert!(settings.state.is_none() && settings.hooks.is_empty());
    }

    #[test]
    fn every_family_has_its_budget_in_the_file() {
        let listed = KEYS.iter().filter(|key| key.section == RECEIPTS && key.name != "max_tokens");
        let listed: Vec<(&str, String)> = listed.map(|key| (key.name, key.value.to_owned())).collect();
        let owned = ReceiptFamily::ALL.map(|family| (family.name(), family.default_budget().to_string()));
        assert_eq!(listed, owned);
    }

    #[test]
    fn every_key_can_be_set_to_what_the_file_shows() {
        let all: String = template()
            .lines()
            .map(|line| {
                line.strip_prefix("# ")
                    .filter(|rest| rest.contains(" = ") || rest.starts_with('['))
                    .unwrap_or(line)
            })
            .map(|line| format!("{line}\n"))
            .collect();
        let file = file::read(&all).unwrap_or_else(|why| panic!("{why}\n{all}"));
        assert_eq!((file.rules.len(), file.hooks.len(), file.state.is_some()), (1, 1, true));
        assert_eq!(file.servers.keys().collect::<Vec<_>>(), ["NAME"]);
    }
}
