//! Recorded runs as resources: which are listed, which can be read, and which cannot.

use std::io::Write as _;
use std::path::Path;

use expect_test::expect;
use serde_json::{Value, json};

use crate::client::{Client, Era, in_both, yes};
use crate::test_server::TestServer;

async fn read(client: &mut Client, uri: &str) -> Value {
    client.request("resources/read", json!({ "uri": uri })).await
}

/// Returns the JSON of a resource.
async fn read_json(client: &mut Client, uri: &str) -> Value {
    let read = read(client, uri).await;
    assert_eq!(read["contents"][0]["mimeType"], "application/json", "{read}");
    serde_json::from_str(read["contents"][0]["text"].as_str().unwrap()).unwrap()
}

/// Creates an artifact; returns its URI.
async fn leave(client: &mut Client, bytes: &[u8], times: u64) -> String {
    let result = client.call("test_leave", json!({ "bytes": bytes, "times": times })).await;
    let link =
        result["content"].as_array().unwrap().iter().find(|content| content["type"] == "resource_link");
    link.unwrap_or_else(|| panic!("{result}"))["uri"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_run_and_its_calls_can_be_read_while_it_goes_on_and_afterwards() {
    let told = in_both(async |era| {
        let mut all = String::new();
        let server = TestServer::new();
        let mut client = Client::open(&server, era).await;
        let (_, done) = client.call_and_answer("test_note", json!({ "text": "a" }), yes("once")).await;
        let run = format!("tollgate://runs/{}", done["_meta"]["tollgate/run"].as_str().unwrap());
        let mut told = read_json(&mut client, &run).await;
        assert_eq!(told["state"], "running");
        assert_eq!(told["runId"], done["_meta"]["tollgate/run"]);
        let call = told["calls"][0]["uri"].as_str().unwrap().to_owned();
        assert!(call.ends_with(done["_meta"]["tollgate/call"].as_str().unwrap()));
        for varying in ["runId", "createdAt", "chainHead"] {
            told.as_object_mut().unwrap().remove(varying);
        }
        for varying in ["uri", "callId"] {
            told["calls"][0].as_object_mut().unwrap().remove(varying);
        }
        all.push_str(&serde_json::to_string_pretty(&told).unwrap());
        let told = read_json(&mut client, &call).await;
        assert_eq!(told["args"], json!({ "text": "a" }));
        assert_eq!(told["result"]["receipt"], done["content"][0]["text"]);
        let how =
            told["result"]["phases"].as_array().unwrap().iter().find(|fact| fact["phase"] == "permission");
        assert!(how.unwrap()["detail"].as_str().unwrap().contains("(client)"), "{told}");
        client.leave().await;
        server.record().await;

        let mut client = Client::open(&server, era).await;
        let told = read_json(&mut client, &run).await;
        assert_eq!((&told["state"], &told["status"]), (&json!("finished"), &json!("ok")));
        all
    })
    .await;
    expect![[r#"
        {
          "state": "running",
          "kind": "session",
          "goal": "calls of tester 1",
          "client": "stdio/nonce0 (says it is tester 1)",
          "effectsLeftOut": 0,
          "undoes": [],
          "calls": [
            {
              "summary": "Noted a",
              "status": "ok",
              "tool": "test.note"
            }
          ],
          "callsBefore": 0,
          "effects": {}
        }"#]]
    .assert_eq(&told);
}

#[tokio::test]
async fn artifacts_are_text_or_blobs_and_long_ones_say_how_to_read_on() {
    let server = TestServer::new();
    let mut client = Client::open(&server, Era::New).await;
    let text = leave(&mut client, "grün\n".as_bytes(), 2).await;
    let contents = read(&mut client, &text).await["contents"].clone();
    assert_eq!(contents, json!([{ "uri": text, "mimeType": "text/plain", "text": "grün\ngrün\n" }]));
    let blob = leave(&mut client, &[0xff, 0x00], 1).await;
    let contents = read(&mut client, &blob).await["contents"].clone();
    assert_eq!(contents, json!([{ "uri": blob, "mimeType": "application/octet-stream", "blob": "/wA=" }]));
    // Three bytes each, so that the cut is inside a character.
    let long = leave(&mut client, "…".as_bytes(), 500_000).await;
    let contents = read(&mut client, &long).await["contents"].clone();
    assert_eq!(contents[0]["text"].as_str().unwrap().len(), 1_048_575);
    let note = contents[1]["text"].as_str().unwrap();
    let run = long.strip_prefix("tollgate://runs/").unwrap().split('/').next().unwrap();
    expect![[r#"The first 1048576 of 1500000 bytes. The tool artifact_read reads on: {"run":"RUN","path":"artifacts/call-3-output.bin","bytes":{"start":1048576,"count":65536}}; it also takes lines, head, tail and grep."#]].assert_eq(&note.replace(run, "RUN"));
}

#[tokio::test]
async fn the_list_has_what_this_session_left_and_the_newest_runs_first() {
    for era in [Era::Old, Era::New] {
        let server = TestServer::new();
        let mut first = Client::open(&server, era).await;
        first.call("test_look", json!({ "text": "x" })).await;
        let mut client = Client::open(&server, era).await;
        let artifact = leave(&mut client, b"x", 1).await;
        let list = client.request("resources/list", json!({})).await;
        let listed = list["resources"].as_array().unwrap();
        assert_eq!(listed.len(), 3, "{list}");
        assert_eq!(listed[0]["uri"], artifact.as_str());
        assert_eq!(listed[0]["size"], 1);
        assert!(artifact.starts_with(listed[1]["uri"].as_str().unwrap()));
        assert_eq!(listed[1]["title"], "calls of tester 1");
        assert!(list.get("nextCursor").is_none());
        for resource in listed {
            let read = read(&mut client, resource["uri"].as_str().unwrap()).await;
            assert!(read["contents"][0]["uri"] == resource["uri"], "{read}");
        }
    }
}

/// Another run that has only begun.
fn copy(server: &TestServer, run: &Path, id: &str, change: impl FnOnce(&mut Value)) {
    let own = run.file_name().unwrap().to_str().unwrap();
    let header = std::fs::read_to_string(run.join("run.json")).unwrap().replace(own, id);
    let mut header = serde_json::from_str(&header).unwrap();
    change(&mut header);
    let dir = server.runs().join(id);
    std::fs::create_dir(&dir).unwrap();
    let mut file = std::fs::File::create_new(dir.join("run.json")).unwrap();
    file.write_all(header.to_string().as_bytes()).unwrap();
}

/// Returns the number of runs on each page of the list, newest first.
async fn pages(client: &mut Client) -> Vec<usize> {
    let (mut cursor, mut pages, mut seen) = (None::<String>, Vec::new(), Vec::new());
    loop {
        let page =
            client.request("resources/list", cursor.map_or(json!({}), |at| json!({ "cursor": at }))).await;
        let listed = page["resources"].as_array().unwrap();
        pages.push(listed.len());
        seen.extend(listed.iter().map(|resource| resource["uri"].as_str().unwrap().to_owned()));
        cursor = page["nextCursor"].as_str().map(str::to_owned);
        if cursor.is_none() {
            break;
        }
    }
    assert!(seen.is_sorted_by(|a, b| a > b), "{seen:?}");
    pages
}

#[tokio::test]
async fn pages_are_full_whoever_made_the_runs_between_and_the_last_is_not_empty() {
    let server = TestServer::new();
    let mut client = Client::open(&server, Era::New).await;
    client.call("test_look", json!({ "text": "x" })).await;
    let run = std::fs::read_dir(server.runs()).unwrap().next().unwrap().unwrap().path();
    let is_of_owner = |header: &mut Value| drop(header.as_object_mut().unwrap().remove("plannerVersion"));
    for number in 0..99 {
        copy(&server, &run, &format!("0001-{number:03}"), |_| {});
        copy(&server, &run, &format!("0001-{number:03}-own"), is_of_owner);
    }
    for number in 0..60 {
        copy(&server, &run, &format!("0000-{number:03}"), is_of_owner);
    }
    assert_eq!(pages(&mut client).await, [50, 50]);
}

#[tokio::test]
async fn many_runs_come_in_pages() {
    let server = TestServer::new();
    let mut client = Client::open(&server, Era::New).await;
    client.call("test_look", json!({ "text": "x" })).await;
    let run = std::fs::read_dir(server.runs()).unwrap().next().unwrap().unwrap().path();
    for number in 0..120 {
        copy(&server, &run, &format!("0000-{number:03}"), |_| {});
    }
    assert_eq!(pages(&mut client).await, [50, 50, 21]);
    let error = client.request("resources/list", json!({ "cursor": "../.." })).await;
    assert_eq!(error["code"], -32602);
    let completed = client
        .request(
            "completion/complete",
            json!({
                "ref": { "type": "ref/resource", "uri": "tollgate://runs/{run}" },
                "argument": { "name": "run", "value": "0000-11" },
            }),
        )
        .await;
    assert_eq!(completed["completion"]["total"], 10, "{completed}");
    assert_eq!(completed["completion"]["values"][0], "0000-119");
}

#[tokio::test]
async fn what_is_not_on_record_is_not_found_however_it_is_named() {
    for (era, code) in [(Era::Old, -32002), (Era::New, -32602)] {
        let server = TestServer::new();
        let mut client = Client::open(&server, era).await;
        let artifact = leave(&mut client, b"x", 1).await;
        let run = artifact.split("/artifacts/").next().unwrap().to_owned();
        let dir = server.runs().join(run.strip_prefix("tollgate://runs/").unwrap());
        // A file beside the artifacts that no result names, and a link in place of an artifact.
        let mut other = std::fs::File::create_new(dir.join("artifacts/secret.txt")).unwrap();
        other.write_all(b"secret").unwrap();
        let second = leave(&mut client, b"y", 1).await;
        let place = dir.join("artifacts").join(second.rsplit('/').next().unwrap());
        std::fs::remove_file(&place).unwrap();
        std::os::unix::fs::symlink(dir.join("run.json"), &place).unwrap();
        for uri in [
            format!("{run}/artifacts/secret.txt"),
            format!("{run}/artifacts/none.bin"),
            format!("{run}/artifacts/../run.json"),
            format!("{run}/artifacts/%2e%2e/run.json"),
            format!("{run}/run.json"),
            format!("{run}/calls/none"),
            format!("{run}/calls/../run.json"),
            "tollgate://runs/none".to_owned(),
            "tollgate://runs/..".to_owned(),
            "tollgate://runs/".to_owned(),
            "tollgate://elsewhere".to_owned(),
            "file:///etc/passwd".to_owned(),
            String::new(),
        ] {
            let error = read(&mut client, &uri).await;
            assert_eq!(error["code"], code, "{uri}: {error}");
            assert_eq!(error["data"]["uri"], uri.as_str());
        }
        let error = read(&mut client, &second).await;
        assert!(error.get("code").is_some(), "{error}");
        assert!(!error.to_string().contains("planHash"), "{error}");
    }
}

#[tokio::test]
async fn the_templates_name_all_there_is() {
    let server = TestServer::new();
    let mut client = Client::open(&server, Era::New).await;
    let templates = client.request("resources/templates/list", json!({})).await;
    let uris: Vec<&str> = templates["resourceTemplates"]
        .as_array()
        .unwrap()
        .iter()
        .map(|template| template["uriTemplate"].as_str().unwrap())
        .collect();
    assert_eq!(
        uris,
        [
            "tollgate://runs/{run}",
            "tollgate://runs/{run}/calls/{call}",
            "tollgate://runs/{run}/artifacts/{name}"
        ]
    );
    let discovered = client.request("server/discover", json!({})).await;
    assert_eq!(discovered["capabilities"]["resources"], json!({}), "{discovered}");
}
