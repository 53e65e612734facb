//! Whatever a person put into our entry, it stays as it is written, and so does every comment.

use proptest::prelude::{Just, Strategy, prop, prop_oneof, proptest};
use serde_json::json;

use super::bytes::space;
use crate::connect::client::ClientKind;
use crate::connect::entry_edit::{EditOutcome, edit_entry};
use crate::connect::jsonc_document::JsoncDocument;

fn comments(text: &str) -> Vec<String> {
    JsoncDocument::parse(text).unwrap().comments(text).into_iter().map(str::to_owned).collect()
}

/// A file whose entry of our name has members of ours and of a person. The latter are returned as well.
fn with_entry() -> impl Strategy<Value = (String, Vec<String>)> {
    let ours = prop_oneof![
        Just(r#""command": "/old""#),
        Just(r#""args":["mcp", /* n */ "x"]"#),
        Just(r#""url" : "http://x//""#),
        Just(r#""type": "http""#),
        Just(r#""headers": {"Authorization": "b"}"#),
        Just(r#""env": { "XDG_STATE_HOME":"/o", "FOO": "1" }"#),
        Just(r#""env": {"FOO": "1" /* foo */}"#),
    ];
    let theirs = prop_oneof![Just("true"), Just("[1, /* in */ 2,]"), Just(r#"{ "x": "}//" }"#)];
    let member = (prop::option::of(ours), theirs, space());
    (prop::collection::vec(member, 0..5), space(), prop::bool::ANY).prop_map(|(members, before, comma)| {
        let (mut all, mut kept, mut seen) = (Vec::new(), Vec::new(), Vec::new());
        for (number, (ours, theirs, after)) in members.into_iter().enumerate() {
            if let Some(ours) = ours
                && !seen.contains(&&ours[..4])
            {
                seen.push(&ours[..4]);
                all.push(format!("{ours}{after}"));
                kept.extend(ours.contains("FOO").then(|| r#""FOO": "1""#.to_owned()));
            }
            let theirs = format!("\"k{number}\"{after}: {theirs}");
            all.push(theirs.clone());
            kept.push(theirs);
        }
        let comma = if comma && !all.is_empty() { "," } else { "" };
        let list = all.join(&format!(",{before}"));
        let entry = format!("{{{before}{list}{comma}{before}}}");
        (format!(r#"{{"mcpServers": {{"tollgate": {entry}, "b": {{}}}}}}"#), kept)
    })
}

/// The lines of a table, and whether they are a person's.
const LINES: [(&str, bool); 8] = [
    ("# about all\n", true),
    ("command = '/old' # started\n", false),
    ("args = [\n  \"mcp\",\n  \"#\",\n]\n", false),
    ("enabled_tools = [ \"a\", # in\n  'b' ]\n", true),
    ("default_tools_approval_mode = \"approve\"   # mine\n", true),
    ("url = \"x\"\n", false),
    ("\tcwd = '''\n[mcp_servers.tollgate]\n'''\n", true),
    ("tool_timeout_sec = 7\n", true),
];

/// What follows them, and what of it is a person's.
const ENDS: [(&str, &str); 5] = [
    ("", ""),
    ("env = { FOO = \"1\" }\n", "FOO = \"1\" }\n"),
    ("env.FOO = \"1\" # f\n", "env.FOO = \"1\" # f\n"),
    (
        "\n[mcp_servers.tollgate.env] # e\nXDG_STATE_HOME = \"/o\" # x\nFOO = \"1\" # f\n",
        "\" # x\nFOO = \"1\" # f\n",
    ),
    (
        "[mcp_servers.tollgate.tools.a]\napproval_mode = \"prompt\"\n",
        "[mcp_servers.tollgate.tools.a]\napproval_mode = \"prompt\"\n",
    ),
];

/// The same as [`with_entry`] in TOML.
fn with_table() -> impl Strategy<Value = (String, Vec<String>)> {
    let some = prop::sample::subsequence(LINES.to_vec(), 0..=LINES.len()).prop_shuffle();
    (some, prop::sample::select(&ENDS[..]), prop::bool::ANY).prop_map(|(lines, (end, theirs), crlf)| {
        let (first, last) = ("a = 1 # first\n[mcp_servers.tollgate]# t\n", "\n# b\n[b]\nc = 1\n");
        let body: String = lines.iter().map(|(line, _)| *line).collect();
        let kept = lines.iter().filter(|(_, theirs)| *theirs).map(|(line, _)| *line);
        let ends = |text: &str| if crlf { text.replace('\n', "\r\n") } else { text.to_owned() };
        (ends(&format!("{first}{body}{end}{last}")), kept.chain([first, theirs, last]).map(ends).collect())
    })
}

proptest! {
    #[test]
    fn what_others_put_into_our_entry_stays((text, kept) in with_entry()) {
        let entry = json!({ "command": "/t", "args": ["mcp", "--vault", "/v"], "env": { "XDG_STATE_HOME": "/s" } });
        match edit_entry(ClientKind::Cursor, &text, "tollgate", &entry) {
            Ok(EditOutcome::Changed { text: new, .. }) => {
                assert_eq!(comments(&new), comments(&text), "{text}\n---\n{new}");
                for member in kept {
                    assert!(new.contains(&member), "{member}\n---\n{text}\n---\n{new}");
                }
                assert_eq!(edit_entry(ClientKind::Cursor, &new, "tollgate", &entry), Ok(EditOutcome::Unchanged));
            }
            Ok(EditOutcome::Unchanged) => panic!("{text}"),
            // The list that we have to replace has a comment inside.
            Err(why) => assert!(why.starts_with("there is a comment inside") && text.contains("/* n */"), "{why}\n{text}"),
        }
    }

    #[test]
    fn what_others_put_into_our_table_stays((text, kept) in with_table()) {
        let env = json!({ "XDG_STATE_HOME": "/s" });
        let entry = json!({ "command": "/t", "args": ["mcp", "--vault", "/v"], "tool_timeout_sec": 300, "env": env });
        let edited = edit_entry(ClientKind::Codex, &text, "tollgate", &entry);
        let Ok(EditOutcome::Changed { text: new, .. }) = edited else { panic!("{edited:?}\n{text}") };
        for lines in kept {
            assert!(new.contains(&lines), "{lines}\n---\n{text}\n---\n{new}");
        }
        let marks = |text: &str| text.replace("\"#\"", "").matches('#').count();
        assert_eq!(marks(&new), marks(&text), "{text}\n---\n{new}");
        assert_eq!(edit_entry(ClientKind::Codex, &new, "tollgate", &entry), Ok(EditOutcome::Unchanged));
    }
}
