//! The messages of the documentation are parsed and written by the code.

use envelope::{Failure, Fault};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{HostError, HostEvent, HostMessage, ServerMessage};

/// Parses a message and writes it again.
fn written_again<T: DeserializeOwned + Serialize>(text: &str) -> String {
    serde_json::to_string(&serde_json::from_str::<T>(text).unwrap()).unwrap()
}

#[test]
fn the_messages_of_the_documentation_are_those_of_the_code() {
    let hash = format!("b3:{}", "0".repeat(64));
    for text in [
        r#"{"type":"hello","version":1,"name":"editor 2.1","vault":"5f0c","openNotes":["Inbox.md"]}"#,
        r#"{"type":"reply","id":1,"result":{"kind":"selection","value":{"path":"Inbox.md","range":{"from":{"line":0,"ch":2},"to":{"line":0,"ch":5}},"text":"one","mode":"source"}}}"#,
        r#"{"type":"reply","id":2,"result":{"kind":"noteWritten","value":"saved"}}"#,
        r#"{"type":"event","event":{"event":"noteClosed","path":"Inbox.md"}}"#,
        r#"{"type":"reply","id":3,"error":{"code":"canceled","message":"cancelled"}}"#,
        r#"{"type":"detach","reason":"the window was closed"}"#,
    ] {
        assert_eq!(written_again::<HostMessage>(text), text);
    }
    for text in [
        r#"{"type":"welcome","version":1,"deadlineMs":5000}"#,
        r#"{"type":"request","id":1,"deadlineMs":5000,"request":{"method":"getSelection"}}"#,
        r#"{"type":"cancel","id":3}"#,
    ] {
        assert_eq!(written_again::<ServerMessage>(text), text);
    }
    let write = format!(
        r#"{{"type":"request","id":2,"deadlineMs":5000,"request":{{"method":"writeNote","params":{{"path":"Inbox.md","before":{{"hash":"{hash}","bytes":4,"mode":420}},"onDisk":"{hash}","text":"x"}}}}}}"#
    );
    assert_eq!(written_again::<ServerMessage>(&write), write);
}

#[test]
fn a_path_that_leaves_the_vault_is_not_a_message() {
    let text = r#"{"type":"event","event":{"event":"noteOpened","path":"../secrets.md"}}"#;
    assert!(serde_json::from_str::<HostMessage>(text).is_err());
}

#[test]
fn a_host_names_its_notes_as_they_are_on_disk() {
    let text = r#"{"type":"event","event":{"event":"noteOpened","path":"a:b/CON.md"}}"#;
    assert_eq!(written_again::<HostMessage>(text), text);
    let HostMessage::Event { event: HostEvent::NoteOpened { path } } = serde_json::from_str(text).unwrap()
    else {
        panic!("another message");
    };
    assert_eq!(path.as_str(), r"a\x3Ab/\x43ON.md");
    let text = r#"{"type":"hello","version":1,"name":"editor","openNotes":["CON.md"]}"#;
    assert_eq!(written_again::<HostMessage>(text), text);
}

#[test]
fn a_fault_survives_the_wire() {
    let fault = Fault::new(Failure::Conflict, "changed").hint("read it").detail("etag", "x").retryable(true);
    let text = serde_json::to_string(&HostError::from(fault.clone())).unwrap();
    assert_eq!(Fault::from(serde_json::from_str::<HostError>(&text).unwrap()), fault);
}

#[test]
fn no_message_has_a_type_of_the_vault_crate() {
    let is_code = |line: &&str| !line.trim_start().starts_with("//");
    assert_eq!(
        include_str!("protocol.rs").lines().filter(is_code).find(|line| line.contains("vault::")),
        None
    );
}
