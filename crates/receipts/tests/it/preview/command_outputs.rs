//! Forty outputs of commands, each with the facts that a model needs from it. No fact may be missing from the receipt
//! within the default budget, whatever the length of the output.
//!
//! The outputs are generated from fixed seeds. The facts were chosen with the generator, before any receipt was made.

use std::fmt::Write as _;

use envelope::{CanonicalResult, CanonicalStatus, ReceiptFamily};
use receipts::families::command::{CommandReport, ProcessExit, project};
use receipts::families::process_output::ProcessOutput;
use receipts::families::render;
use receipts::families::streams::ProcessStream;
use receipts::preview::tokenizer::estimate;
use toolkit::Projection;

/// One output of a command.
struct Sample {
    name: &'static str,
    text: String,
    facts: Vec<String>,
}

/// Numbers that look random and are the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[usize::try_from(self.below(of.len() as u64)).unwrap()]
    }
}

/// Makes `count` rows below a head; row `odd.0` is `odd.1`, which is also a fact.
fn rows(
    name: &'static str,
    head: &str,
    count: u64,
    odd: (u64, &str),
    mut row: impl FnMut(u64, &mut Numbers) -> String,
) -> Sample {
    let mut numbers = Numbers(name.len() as u64 * 7_919 + count);
    let mut text = String::new();
    if !head.is_empty() {
        writeln!(text, "{head}").unwrap();
    }
    for n in 0..count {
        let usual = row(n, &mut numbers);
        writeln!(text, "{}", if n == odd.0 { odd.1 } else { &usual }).unwrap();
    }
    let mut facts = vec![odd.1.to_owned()];
    if !head.is_empty() {
        facts.push(head.to_owned());
    }
    Sample { name, text, facts }
}

const NAMES: [&str; 12] =
    ["anna", "boris", "chloe", "dmitri", "elena", "farid", "greta", "hugo", "ines", "jonas", "karin", "liam"];
const CITIES: [&str; 8] = ["Oslo", "Lima", "Kyoto", "Turin", "Quito", "Porto", "Gdansk", "Leeds"];

#[expect(clippy::too_many_lines, reason = "a list of samples")]
fn tables() -> Vec<Sample> {
    let letters = |numbers: &mut Numbers| -> String {
        (0..5).map(|_| char::from(b'a' + u8::try_from(numbers.below(26)).unwrap())).collect()
    };
    vec![
        rows(
            "nodes of a cluster, one not ready",
            "NAME       STATUS   ROLES    AGE   VERSION",
            180,
            (93, "node-093   NotReady   worker   12d   v1.29.1"),
            |n, _| format!("node-{n:03}   Ready    worker   12d   v1.29.1"),
        ),
        rows(
            "nodes with one sick in its numbers only",
            "NODE       STATE  CPU%  MEM%  LATENCY",
            180,
            (117, "node-117   up     99    97    2140ms"),
            |n, r| {
                format!(
                    "node-{n:03}   up     {}    {}    {}ms",
                    20 + r.below(20),
                    30 + r.below(15),
                    3 + r.below(6)
                )
            },
        ),
        rows(
            "nodes with one older version",
            "NODE       KUBELET   KERNEL",
            260,
            (140, "node-140   v1.27.9   6.1.0-18"),
            |n, _| format!("node-{n:03}   v1.29.1   6.1.0-18"),
        ),
        rows(
            "containers, one restarting",
            "CONTAINER      IMAGE          STATUS           PORTS",
            200,
            (71, "worker-71      shop/api:4.2   Restarting (137)   8080/tcp"),
            |n, r| format!("worker-{n}      shop/api:4.2   Up {} days        8080/tcp", 2 + r.below(5)),
        ),
        rows(
            "processes, one at full load",
            "  PID USER      %CPU %MEM COMMAND",
            320,
            (201, " 8812 liam      98.7 41.0 ledger --reindex"),
            |n, r| {
                let user = r.one(&NAMES);
                format!(
                    "{:5} {user:9} {}.{}  {}.{} {} --serve",
                    1000 + n * 7,
                    r.below(2),
                    r.below(10),
                    r.below(2),
                    r.below(10),
                    letters(r)
                )
            },
        ),
        rows(
            "mounts, one full",
            "Filesystem      Size  Used Avail Use% Mounted on",
            240,
            (155, "/dev/sd155      100G  100G    0G 100% /srv/data155"),
            |n, r| {
                let used = 40 + r.below(12);
                format!("/dev/sd{n}      100G   {used}G   {}G  {used}% /srv/data{n}", 100 - used)
            },
        ),
        rows(
            "services, one inactive",
            "UNIT                 LOAD   ACTIVE   SUB      DESCRIPTION",
            250,
            (88, "agent-88.service     loaded inactive dead     Agent 88"),
            |n, _| format!("agent-{n}.service     loaded active   running  Agent {n}"),
        ),
        rows(
            "branches, one gone",
            "",
            300,
            (141, "  topic/rename-141  3f9a1c2 [origin/topic/rename-141: gone] Rename 141"),
            |n, r| {
                format!(
                    "  topic/rename-{n}  {:07x} [origin/topic/rename-{n}] Rename {n}",
                    r.below(0x0fff_ffff)
                )
            },
        ),
        rows(
            "hosts, one with loss",
            "HOST          SENT  RECV  LOSS  AVG",
            260,
            (33, "10.4.0.33     10    2     80%   412.0"),
            |n, r| format!("10.4.0.{n}     10    10    0%    {}.{}", 11 + r.below(4), r.below(10)),
        ),
        rows(
            "rows of a database, one without a date",
            " id  | name     | city   | verified | since",
            300,
            (212, " 212 | greta    | Turin  | f        | "),
            |n, r| {
                format!(
                    " {n} | {:8} | {:6} | t        | 2025-0{}-1{}",
                    r.one(&NAMES),
                    r.one(&CITIES),
                    1 + r.below(9),
                    r.below(9)
                )
            },
        ),
        rows(
            "sockets, one waiting",
            "Proto Local            Peer               State",
            280,
            (171, "tcp   10.0.0.5:443     192.168.7.171:50171  CLOSE_WAIT"),
            |n, _| format!("tcp   10.0.0.5:443     192.168.7.{n}:50{n:03}  ESTABLISHED"),
        ),
        rows(
            "packages, one held back",
            "Package            Installed   Candidate   Pin",
            220,
            (64, "lib-ledger-64      2.4.0       3.0.1       hold"),
            |n, r| format!("lib-{}-{n}      2.4.0       2.4.0       none", letters(r)),
        ),
    ]
}

#[expect(clippy::too_many_lines, reason = "a list of samples")]
fn json_lines() -> Vec<Sample> {
    let request = |n: u64, status: u64, ms: u64, path: &str| {
        format!(
            "{{\"at\":\"2026-03-01T10:{:02}:{:02}Z\",\"path\":\"{path}\",\"status\":{status},\"ms\":{ms}}}",
            n / 60 % 60,
            n % 60
        )
    };
    let paths = ["/orders", "/items", "/users", "/health"];
    let fact = |mut sample: Sample, facts: &[&str]| {
        sample.facts = facts.iter().map(|fact| (*fact).to_owned()).collect();
        sample
    };
    let pods: Vec<_> = (0..120)
        .map(|n| {
            let phase = if n == 77 { "Pending" } else { "Running" };
            serde_json::json!({"metadata": {"name": format!("api-{n:03}"), "namespace": "shop"},
                "status": {"phase": phase, "hostIP": format!("10.0.0.{n}")}})
        })
        .collect();
    let checks: Vec<_> = (0..300)
        .map(|n| serde_json::json!({"check": format!("disk-{n:03}"), "healthy": n != 190, "used": 40 + n * 7 % 20}))
        .collect();
    vec![
        fact(
            rows(
                "requests, one with status 503",
                "",
                500,
                (260, &request(260, 503, 31, "/orders")),
                |n, r| request(n, 200, 20 + r.below(15), r.one(&paths)),
            ),
            &["2026-03-01T10:04:20Z,/orders,503", "2026-03-01T10:00:00Z", "2026-03-01T10:08:19Z"],
        ),
        fact(
            rows("requests, one slow", "", 400, (123, &request(123, 200, 9_871, "/items")), |n, r| {
                request(n, 200, 20 + r.below(15), r.one(&paths))
            }),
            &["/items,200,9871"],
        ),
        fact(
            rows(
                "events, one with a further field",
                "",
                400,
                (222, "{\"event\":\"paid\",\"order\":9222,\"refund\":\"R-17\"}"),
                |n, r| {
                    format!("{{\"event\":\"{}\",\"order\":{}}}", r.one(&["paid", "sent", "seen"]), 9_000 + n)
                },
            ),
            &["9222", "refund", "R-17"],
        ),
        fact(
            rows(
                "log of levels, one error",
                "",
                450,
                (301, "{\"level\":\"error\",\"msg\":\"lost lease\",\"shard\":301}"),
                |n, r| {
                    format!("{{\"level\":\"{}\",\"msg\":\"tick\",\"shard\":{n}}}", r.one(&["info", "debug"]))
                },
            ),
            &["error,lost lease,301"],
        ),
        fact(
            rows(
                "readings, one null",
                "",
                500,
                (333, "{\"sensor\":\"s-333\",\"celsius\":null,\"ok\":true}"),
                |n, r| {
                    format!(
                        "{{\"sensor\":\"s-{n}\",\"celsius\":{}.{},\"ok\":true}}",
                        18 + r.below(4),
                        r.below(10)
                    )
                },
            ),
            &["s-333,null,true"],
        ),
        fact(
            rows(
                "builds, one of another kind",
                "",
                400,
                (199, "{\"job\":199,\"kind\":\"rollback\",\"by\":\"karin\",\"s\":33}"),
                |n, r| {
                    format!(
                        "{{\"job\":{n},\"kind\":\"deploy\",\"by\":\"{}\",\"s\":{}}}",
                        r.one(&NAMES),
                        30 + r.below(9)
                    )
                },
            ),
            &["199,rollback,karin"],
        ),
        Sample {
            name: "pods with their state, one pending",
            text: serde_json::json!({"kind": "List", "items": pods}).to_string(),
            facts: ["api-077", "Pending", "kind: List"].map(str::to_owned).to_vec(),
        },
        Sample {
            name: "an array of checks, one unhealthy",
            text: serde_json::to_string_pretty(&checks).unwrap(),
            facts: ["disk-190,false", "[300]"].map(str::to_owned).to_vec(),
        },
        fact(
            rows(
                "messages of a compiler, one error",
                "",
                300,
                (
                    150,
                    "{\"reason\":\"compiler-message\",\"target\":\"ledger\",\"text\":\"error[E0308]: mismatched types\"}",
                ),
                |n, _| {
                    format!("{{\"reason\":\"compiler-artifact\",\"target\":\"dep-{n}\",\"text\":\"fresh\"}}")
                },
            ),
            &["error[E0308]: mismatched types"],
        ),
        fact(
            rows(
                "transfers, one negative",
                "",
                350,
                (42, "{\"iban\":\"NO-42\",\"amount\":-7712,\"currency\":\"EUR\"}"),
                |n, r| {
                    format!("{{\"iban\":\"NO-{n}\",\"amount\":{},\"currency\":\"EUR\"}}", 100 + r.below(300))
                },
            ),
            &["NO-42,-7712,EUR"],
        ),
    ]
}

#[expect(clippy::too_many_lines, reason = "a list of samples")]
fn logs() -> Vec<Sample> {
    let with = |name: &'static str,
                count: u64,
                middle: &str,
                facts: &[&str],
                usual: &dyn Fn(u64, &mut Numbers) -> String| {
        let mut numbers = Numbers(count);
        let mut text = String::new();
        for n in 0..count {
            if n == count / 2 {
                writeln!(text, "{middle}").unwrap();
            }
            writeln!(text, "{}", usual(n, &mut numbers)).unwrap();
        }
        let facts = facts.iter().map(|fact| (*fact).to_owned()).collect();
        Sample { name, text, facts }
    };
    let served = |n: u64, r: &mut Numbers| {
        format!(
            "10:{:02}:{:02} INFO web-{} GET /{} 200 {}ms",
            n / 60 % 60,
            n % 60,
            r.below(4),
            r.one(&CITIES),
            8 + r.below(9)
        )
    };
    vec![
        with(
            "a compiler error",
            1_500,
            "src/report.c:142:9: error: 'total' undeclared (first use in this function)\n  142 |   return totl;\n      |          ^~~~",
            &["src/report.c:142:9: error: 'total' undeclared", "return totl;"],
            &|n, r| format!("cc -O2 -c -o obj/{}{n}.o src/{}{n}.c", r.one(&NAMES), r.one(&CITIES)),
        ),
        with(
            "one failing test of many",
            600,
            "tests/test_report.py::test_totals FAILED\nE       assert 41 == 42\ntests/test_report.py:12: AssertionError",
            &["tests/test_report.py::test_totals FAILED", "assert 41 == 42", "tests/test_report.py:12"],
            &|n, r| format!("tests/test_{}.py::test_case_{n} PASSED", r.one(&NAMES)),
        ),
        with(
            "a package manager that gives up",
            900,
            "npm ERR! code ERESOLVE\nnpm ERR! while resolving: shop@2.1.0",
            &["npm ERR! code ERESOLVE", "shop@2.1.0"],
            &|n, r| {
                format!(
                    "npm http fetch GET 200 https://registry.example/{}-{n} {}ms",
                    r.one(&NAMES),
                    r.below(90)
                )
            },
        ),
        with(
            "a server with one failure",
            2_000,
            "10:16:40 ERROR web-2 GET /Quito 500 31ms\n  cause: pool exhausted\n  at Pool.take (pool.js:88:11)",
            &["ERROR web-2 GET /Quito 500", "pool exhausted", "pool.js:88"],
            &served,
        ),
        with(
            "a worker that stopped without the word failure",
            1_200,
            "10:10:00 worker 7 stopped responding, exit status 137",
            &["worker 7 stopped responding, exit status 137"],
            &served,
        ),
        with(
            "one resource to be destroyed",
            500,
            "  # db.primary will be destroyed",
            &["db.primary will be destroyed"],
            &|n, r| format!("  # host.{}[{n}] will be created", r.one(&NAMES)),
        ),
        with(
            "a module that does not build",
            800,
            "[ERROR] module billing: cannot find symbol Invoice",
            &["module billing: cannot find symbol Invoice"],
            &|n, r| format!("[INFO] module {}-{n}: built in {} s", r.one(&NAMES), r.below(40)),
        ),
        with(
            "one file that was not copied",
            1_000,
            "skipped photos/img-0500.jpg: source vanished",
            &["skipped photos/img-0500.jpg: source vanished"],
            &|n, r| format!("copied photos/img-{n:04}.jpg ({} kB)", 900 + r.below(400)),
        ),
        with(
            "a short log that fits",
            40,
            "10:00:20 WARN disk at 91%",
            &["10:00:20 WARN disk at 91%", "10:00:19", "10:00:39"],
            &served,
        ),
        with(
            "retries with one other answer",
            900,
            "poll 450: 409 conflict with run 77",
            &["poll 450: 409 conflict with run 77"],
            &|n, r| format!("poll {n}: 202 accepted after {}ms", 20 + r.below(30)),
        ),
    ]
}

fn csv() -> Vec<Sample> {
    let money = |n: u64, r: &mut Numbers| {
        format!("{n},{},{},{}.{:02},EUR", r.one(&NAMES), r.one(&CITIES), 10 + r.below(80), r.below(100))
    };
    let mut fits = rows("130 rows that fit", "id,reading,level", 130, (64, "64,207,3"), |n, r| {
        format!("{n},{},{}", 200 + r.below(40), r.below(9))
    });
    fits.facts = fits.text.lines().map(str::to_owned).collect();
    vec![
        fits,
        rows("135 rows of readings", "id,reading,level,note", 135, (70, "70,9120,3,ok"), |n, r| {
            format!("{n},{},{},ok reading of the day", 200 + r.below(40), r.below(9))
        }),
        rows(
            "orders, one in dollars",
            "id,name,city,amount,currency",
            600,
            (344, "344,hugo,Lima,41.10,USD"),
            money,
        ),
        rows(
            "orders, one refund",
            "id,name,city,amount,currency",
            500,
            (121, "121,ines,Porto,-950.00,EUR"),
            money,
        ),
        rows(
            "orders, one without a city",
            "id,name,city,amount,currency",
            500,
            (260, "260,jonas,,33.10,EUR"),
            money,
        ),
        rows("dates, one in another year", "id,day,hours", 400, (205, "205,2062-03-04,8"), |n, r| {
            format!("{n},2026-0{}-1{},{}", 1 + r.below(9), r.below(9), 6 + r.below(4))
        }),
        rows(
            "members, one inactive",
            "id;name;state;city",
            450,
            (333, "333;elena;inactive;Leeds"),
            |n, r| format!("{n};{};active;{}", r.one(&NAMES), r.one(&CITIES)),
        ),
        rows("a row with a stray column", "id,a,b,c", 420, (99, "99,12,14,11,stray"), |n, r| {
            format!("{n},{},{},{}", 10 + r.below(9), 10 + r.below(9), 10 + r.below(9))
        }),
    ]
}

/// Returns the receipt of a command that printed the text, and its canonical result.
fn receipt(text: &str) -> (String, serde_json::Value) {
    let stream = |text| ProcessStream {
        text,
        complete: true,
        from: 0,
        bytes: text.len() as u64,
        lines: Some(text.lines().count() as u64),
        digest: None,
        artifact: None,
    };
    let report = CommandReport::Completed {
        end: ProcessExit::Exited(0),
        output: ProcessOutput::Separate { stdout: stream(text), stderr: stream("") },
        unsandboxed: false,
        warnings: &[],
    };
    let budget = ReceiptFamily::Command.default_budget() as usize;
    let projected = project(&report, &mut Projection::new(budget, None)).unwrap();
    let canonical = CanonicalResult {
        tool_name: "ExecCommand".to_owned(),
        status: CanonicalStatus::Success,
        summary_text: "Ran a command".to_owned(),
        result: Some(projected.result.clone()),
        error: None,
    };
    (render(ReceiptFamily::Command, &canonical, budget), projected.result)
}

#[test]
fn no_fact_of_forty_outputs_is_missing_within_the_default_budget() {
    let budget = ReceiptFamily::Command.default_budget() as usize;
    let samples: Vec<Sample> = [tables(), json_lines(), logs(), csv()].into_iter().flatten().collect();
    assert_eq!(samples.len(), 40);
    let (mut raw, mut shown, mut raw_over, mut shown_over) = (0, 0, 0, 0);
    let mut missing = Vec::new();
    for Sample { name, text, facts } in &samples {
        let (receipt, result) = receipt(text);
        let (before, after) = (estimate(text), estimate(&receipt));
        assert!(after <= budget, "{name}: {after} tokens");
        let kept = result["stdout_preview"].as_str().map_or(0, estimate);
        assert!(kept <= budget, "{name}: {kept} tokens in the canonical result");
        raw += before;
        shown += after;
        if before > budget {
            raw_over += before;
            shown_over += after;
            // What is left out does not leave most of the budget unused. Passing tests and downloads stay a number.
            let routine = ["one failing test of many", "a package manager that gives up"].contains(name);
            let spent = after * 3 >= budget * 2 || routine;
            if !spent {
                missing.push(format!("{name}: only {after} of {budget} tokens are used\n{receipt}"));
            }
        }
        let lacking: Vec<_> = facts.iter().filter(|fact| !receipt.contains(fact.trim_end())).collect();
        if !lacking.is_empty() {
            missing.push(format!("{name} ({before} -> {after} tokens): {lacking:?}\n{receipt}\n"));
        }
        let every_line = text.lines().all(|line| receipt.contains(line.trim()));
        if !every_line && !text.starts_with(['{', '[']) {
            assert_eq!(result["truncated"], true, "{name}");
        }
    }
    assert!(missing.is_empty(), "{} samples lack facts:\n{}", missing.len(), missing.join("\n"));
    let figures = format!("all: {shown} of {raw} tokens; beyond the budget: {shown_over} of {raw_over}");
    assert!(shown * 2 <= raw && shown_over * 2 <= raw_over, "{figures}");
    expect_test::expect!["all: 76805 of 328933 tokens; beyond the budget: 73639 of 325792"]
        .assert_eq(&figures);
}

#[test]
fn whatever_is_missing_makes_the_result_truncated_and_the_canonical_result_keeps_its_budget() {
    let budget = ReceiptFamily::Command.default_budget() as usize;
    let similar: String =
        (0..4_000).map(|n| format!("copied 10 MB of 2 GB, block {n} of 4000 done\n")).collect();
    let passing: String = (0..900).map(|n| format!("test suite::case_{n} ... ok\n")).collect();
    let long = "one very long line of words ".repeat(2_000);
    for text in [similar, passing, long] {
        let (_, result) = receipt(&text);
        assert_eq!((&result["truncated"], &result["stdout_truncated"]), (&true.into(), &true.into()));
    }
    // Copies of one line are counted, so nothing is missing.
    let (receipt, result) = receipt(&"waiting for the database\n".repeat(1_500));
    assert!(receipt.contains("[... 1499 identical lines]"), "{receipt}");
    assert_eq!(result["truncated"], false);
    assert!(estimate(&result.to_string()) <= budget);
}

#[test]
fn what_fits_is_shown_completely_and_a_row_more_costs_only_what_does_not_fit() {
    let csv = |count: u64| -> String {
        (0..count).map(|n| format!("row {n},{},{},{}\n", n * 37 % 101, n * 53 % 97, n * 71 % 89)).collect()
    };
    let shown = |count: u64| {
        let text = csv(count);
        let (receipt, _) = receipt(&text);
        text.lines().filter(|line| receipt.lines().any(|shown| shown == *line)).count() as u64
    };
    let most = (10..400).take_while(|&count| estimate(&csv(count)) + 40 <= 2_000).last().unwrap();
    assert_eq!(shown(most), most);
    let beyond = shown(most + 20);
    assert!(beyond + 20 >= most, "{beyond} of {} rows", most + 20);
}
