//! Server settings with absolute paths.

use std::collections::BTreeMap;
use std::path::Path;

use envelope::canonical_bytes;
use mcp_client::ServerSettings;
use serde_json::json;

use super::commands::whole;

/// Resolves the servers by name. Fails if one of them cannot be used.
pub(super) fn resolve(
    given: BTreeMap<String, ServerSettings>,
    home: Option<&Path>,
) -> Result<BTreeMap<String, ServerSettings>, String> {
    let resolved = given.into_iter().map(|(name, mut server)| {
        for (key, folders) in [("readable", &mut server.readable), ("writable", &mut server.writable)] {
            let key = format!("servers.{name}.{key}");
            *folders = folders.iter().map(|folder| whole(&key, folder, home)).collect::<Result<_, _>>()?;
        }
        server.check(&name)?;
        Ok((name, server))
    });
    resolved.collect()
}

/// Returns the declarations that an approval is bound to, one entry each.
pub(super) fn declarations(servers: &BTreeMap<String, ServerSettings>) -> Vec<String> {
    let canonical = |(name, server): (&String, &ServerSettings)| {
        String::from_utf8_lossy(&canonical_bytes(&json!({ "name": name, "server": server }))).into_owned()
    };
    servers.iter().map(canonical).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use expect_test::{Expect, expect};

    use super::super::Settings;

    #[track_caller]
    fn check(text: &str, expect: Expect) {
        let read = Settings::parse(text, Path::new("/vault"));
        let shown = read.map_or_else(|why| why, |settings| settings.policy.servers.join("\n"));
        expect.assert_eq(&shown);
    }

    #[test]
    fn a_server_is_a_command_or_an_address_and_a_yes_is_bound_to_it() {
        check(
            "[servers.fs]\ncommand = [\"server\", \"/x\"]\nreadable = [\"/opt/fs\"]\n[servers.web]\nurl = \"https://example.org/mcp\"\n",
            expect![[r#"
                {"name":"fs","server":{"command":["server","/x"],"env":[],"max_output_bytes":4194304,"network":false,"readable":["/opt/fs"],"timeout_ms":60000,"token_env":null,"trust_hints":false,"url":null}}
                {"name":"web","server":{"command":null,"env":[],"max_output_bytes":4194304,"network":false,"readable":[],"timeout_ms":60000,"token_env":null,"trust_hints":false,"url":"https://example.org/mcp"}}"#]],
        );
    }

    #[test]
    fn what_cannot_be_used_is_named() {
        check("[servers.fs]\n", expect!["`servers.fs` has neither `command` nor `url`; give one of them"]);
        check(
            "[servers.fs]\ncommand = [\"x\"]\nurl = \"http://127.0.0.1/\"\n",
            expect!["`servers.fs` has `command` and `url`; give one of them"],
        );
        check(
            "[servers.\"a.b\"]\ncommand = [\"x\"]\n",
            expect![
                "`servers.a.b` is not a valid server name: start with a letter, then use letters, digits, `_` or `-`, at most 32"
            ],
        );
        check(
            "[servers.fs]\nurl = \"https://me:secret@example.org/\"\n",
            expect![
                "`servers.fs.url` cannot be `https://me:secret@example.org/`: write it like `https://example.org/mcp`, with a token in `token_env`"
            ],
        );
        check(
            "[servers.fs]\nurl = \"http://example.org/mcp\"\ntoken_env = \"TOKEN\"\n",
            expect![
                "`servers.fs.url` cannot be `http://example.org/mcp` with a `token_env`: the token could be read on the network; write `https://`, or an address of this machine such as `http://127.0.0.1:8080/mcp`"
            ],
        );
        check(
            "[servers.fs]\ncomand = [\"x\"]\n",
            expect!["line 2: `servers.comand` is not a key; did you mean `servers.command`?"],
        );
        check(
            "[servers.fs]\ncommand = \"x\"\n",
            expect![[
                r#"line 2: `servers.command` cannot be "x"; write it like `command = ["server-filesystem", "/home/me/Notes"]`. The program and its arguments, for a server that is started here: in the sandbox of commands, in an empty folder of its own, so write paths in full. Give this or `url`."#
            ]],
        );
        check(
            "servers = 1\n",
            expect![[
                r#"line 1: `servers` is a table of tables: write `[servers.NAME]` for each, and its keys below, like `command = ["server-filesystem", "/home/me/Notes"]`"#
            ]],
        );
        check(
            "[servers]\nfs = 1\n",
            expect![[
                r#"line 2: `servers` is a table of tables: write `[servers.NAME]` for each, and its keys below, like `command = ["server-filesystem", "/home/me/Notes"]`"#
            ]],
        );
    }
}
