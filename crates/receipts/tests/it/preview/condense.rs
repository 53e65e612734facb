//! Output of test runners and build tools, condensed.

use expect_test::{Expect, expect};
use receipts::preview::condense::{PreviewLine, condense};

fn check(raw: &str, expected: &Expect) {
    let lines: Vec<&str> = raw.trim_start_matches('\n').split_terminator('\n').collect();
    let condensed = condense(&lines);
    assert_eq!(condensed.iter().map(PreviewLine::line_count).sum::<u64>(), lines.len() as u64);
    let text: Vec<&str> = condensed.iter().map(PreviewLine::text).collect();
    expected.assert_eq(&(text.join("\n").replace('\t', "\\t") + "\n"));
}

#[test]
fn cargo_test() {
    check(
        r"
   Compiling proc-macro2 v1.0.107
   Compiling quote v1.0.47
   Compiling thiserror v2.0.17
   Compiling serde v1.0.229
   Compiling ledger v0.3.0 (/home/dev/ledger)
    Finished `test` profile [unoptimized + debuginfo] target(s) in 12.40s
     Running unittests src/lib.rs (target/debug/deps/ledger-0c1f)

running 6 tests
test amount::tests::adds_up ... ok
test amount::tests::an_error_names_the_line ... ok
test report::tests::is_ignored ... ignored
test report::tests::sorts ... ok
test report::tests::rounds_half_up ... ok
test report::tests::totals ... FAILED

failures:

---- report::tests::totals stdout ----

thread 'report::tests::totals' (31337) panicked at src/report.rs:142:9:
assertion `left == right` failed
  left: 41
 right: 42
note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace


failures:
    report::tests::totals

test result: FAILED. 4 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s

error: test failed, to rerun pass `--lib`
",
        &expect![[r#"
               Compiling proc-macro2 v1.0.107
            [... 3 similar lines]
               Compiling ledger v0.3.0 (/home/dev/ledger)
                Finished `test` profile [unoptimized + debuginfo] target(s) in 12.40s
                 Running unittests src/lib.rs (target/debug/deps/ledger-0c1f)

            running 6 tests
            [2 passing tests not shown]
            test report::tests::is_ignored ... ignored
            [2 passing tests not shown]
            test report::tests::totals ... FAILED

            failures:

            ---- report::tests::totals stdout ----

            thread 'report::tests::totals' (31337) panicked at src/report.rs:142:9:
            assertion `left == right` failed
              left: 41
             right: 42
            note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace


            failures:
                report::tests::totals

            test result: FAILED. 4 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s

            error: test failed, to rerun pass `--lib`
        "#]],
    );
}

#[test]
fn nextest() {
    check(
        r"
────────────
 Nextest run ID 7f0c with nextest profile: default
    Starting 5 tests across 2 binaries
        PASS [   0.005s] (1/5) ledger amount::tests::adds_up
        PASS [   0.006s] (2/5) ledger amount::tests::fails_closed
        FAIL [   0.011s] (3/5) ledger report::tests::totals
  stdout ───

    running 1 test
    test report::tests::totals ... FAILED

  stderr ───
    thread 'report::tests::totals' panicked at src/report.rs:142:9:

        PASS [   0.007s] (4/5) ledger::cli prints_help
        PASS [   0.107s] (5/5) ledger::cli reads_stdin
────────────
     Summary [   0.120s] 5 tests run: 4 passed, 1 failed, 0 skipped
        FAIL [   0.011s] (3/5) ledger report::tests::totals
error: test run failed
",
        &expect![[r#"
            ────────────
             Nextest run ID 7f0c with nextest profile: default
                Starting 5 tests across 2 binaries
            [2 passing tests not shown]
                    FAIL [   0.011s] (3/5) ledger report::tests::totals
              stdout ───

                running 1 test
                test report::tests::totals ... FAILED

              stderr ───
                thread 'report::tests::totals' panicked at src/report.rs:142:9:

            [2 passing tests not shown]
            ────────────
                 Summary [   0.120s] 5 tests run: 4 passed, 1 failed, 0 skipped
                    FAIL [   0.011s] (3/5) ledger report::tests::totals
            error: test run failed
        "#]],
    );
}

#[test]
fn pytest() {
    check(
        r#"
============================= test session starts ==============================
platform linux -- Python 3.12.3, pytest-8.2.0, pluggy-1.5.0
collected 31 items

tests/test_amount.py ............                                        [ 38%]
tests/test_cli.py ......                                                 [ 58%]
tests/test_report.py ....F..                                             [ 80%]
tests/test_web.py ......                                                 [100%]

=================================== FAILURES ===================================
_________________________________ test_totals __________________________________

    def test_totals():
>       assert total([1, 2]) == 4
E       assert 3 == 4
E        +  where 3 = total([1, 2])

tests/test_report.py:12: AssertionError
=========================== short test summary info ============================
FAILED tests/test_report.py::test_totals - assert 3 == 4
========================= 1 failed, 30 passed in 0.52s =========================
"#,
        &expect![[r#"
            ============================= test session starts ==============================
            platform linux -- Python 3.12.3, pytest-8.2.0, pluggy-1.5.0
            collected 31 items

            [18 passing tests not shown]
            tests/test_report.py ....F..                                             [ 80%]
            [6 passing tests not shown]

            =================================== FAILURES ===================================
            _________________________________ test_totals __________________________________

                def test_totals():
            >       assert total([1, 2]) == 4
            E       assert 3 == 4
            E        +  where 3 = total([1, 2])

            tests/test_report.py:12: AssertionError
            =========================== short test summary info ============================
            FAILED tests/test_report.py::test_totals - assert 3 == 4
            ========================= 1 failed, 30 passed in 0.52s =========================
        "#]],
    );
    check(
        "
tests/test_a.py::test_one PASSED                                         [ 25%]
tests/test_a.py::test_error_text PASSED                                  [ 50%]
tests/test_a.py::test_two FAILED                                         [ 75%]
tests/test_a.py::test_three SKIPPED (no network)                         [100%]
test_upper (test_strings.Strings.test_upper) ... ok
test_lower (test_strings.Strings.test_lower) ... ok
",
        &expect![[r#"
            [2 passing tests not shown]
            tests/test_a.py::test_two FAILED                                         [ 75%]
            tests/test_a.py::test_three SKIPPED (no network)                         [100%]
            [2 passing tests not shown]
        "#]],
    );
}

#[test]
fn jest_and_vitest() {
    check(
        "
PASS src/cart.test.ts
PASS src/money.test.ts (5.212 s)
FAIL src/order.test.ts
  Order
    ✓ starts empty (3 ms)
    ✓ takes lines (1 ms)
    ✕ refuses a negative amount (4 ms)

  ● Order › refuses a negative amount

    expect(received).toThrow()

      14 |   it('refuses a negative amount', () => {
    > 15 |     expect(() => order.add(-1)).toThrow();
         |                                 ^
      at Object.<anonymous> (src/order.test.ts:15:33)

Test Suites: 1 failed, 2 passed, 3 total
Tests:       1 failed, 11 passed, 12 total
",
        &expect![[r#"
            [2 passing test files not shown]
            FAIL src/order.test.ts
              Order
            [2 passing tests not shown]
                ✕ refuses a negative amount (4 ms)

              ● Order › refuses a negative amount

                expect(received).toThrow()

                  14 |   it('refuses a negative amount', () => {
                > 15 |     expect(() => order.add(-1)).toThrow();
                     |                                 ^
                  at Object.<anonymous> (src/order.test.ts:15:33)

            Test Suites: 1 failed, 2 passed, 3 total
            Tests:       1 failed, 11 passed, 12 total
        "#]],
    );
    check(
        "
 RUN  v2.1.4 /home/dev/shop

 ✓ src/cart.test.ts (5 tests) 12ms
 ✓ src/money.test.ts (12 tests) 31ms
 ❯ src/order.test.ts (3 tests | 1 failed) 9ms
   × refuses a negative amount
     → expected [Function] to throw an error

 Test Files  1 failed | 2 passed (3)
      Tests  1 failed | 19 passed (20)
",
        &expect![[r#"
             RUN  v2.1.4 /home/dev/shop

            [17 passing tests not shown]
             ❯ src/order.test.ts (3 tests | 1 failed) 9ms
               × refuses a negative amount
                 → expected [Function] to throw an error

             Test Files  1 failed | 2 passed (3)
                  Tests  1 failed | 19 passed (20)
        "#]],
    );
}

#[test]
fn go_test() {
    check(
        "
=== RUN   TestParse
--- PASS: TestParse (0.00s)
=== RUN   TestStore
=== RUN   TestStore/get
=== RUN   TestStore/expired
--- PASS: TestStore (0.00s)
    --- PASS: TestStore/get (0.00s)
    --- PASS: TestStore/expired (0.00s)
=== RUN   TestTotals
    report_test.go:31: got 41, want 42
--- FAIL: TestTotals (0.00s)
FAIL
FAIL\texample.com/ledger/report\t0.004s
ok  \texample.com/ledger/amount\t0.003s
ok  \texample.com/ledger/cli\t0.010s
FAIL
",
        &expect![[r#"
            [4 passing tests not shown]
            === RUN   TestTotals
                report_test.go:31: got 41, want 42
            --- FAIL: TestTotals (0.00s)
            FAIL
            FAIL\texample.com/ledger/report\t0.004s
            [2 passing test files not shown]
            FAIL
        "#]],
    );
}

#[test]
fn mocha_and_tap() {
    check(
        "
  Order
    ✔ starts empty
    ✔ takes lines (42ms)
    1) refuses a negative amount

  2 passing (51ms)
  1 failing

  1) Order
       refuses a negative amount:
     AssertionError: expected no error
      at Context.<anonymous> (test/order.js:15:33)
",
        &expect![[r#"
              Order
            [2 passing tests not shown]
                1) refuses a negative amount

              2 passing (51ms)
              1 failing

              1) Order
                   refuses a negative amount:
                 AssertionError: expected no error
                  at Context.<anonymous> (test/order.js:15:33)
        "#]],
    );
    check(
        "
TAP version 13
ok 1 - starts empty
  ---
  duration_ms: 0.61
  type: 'test'
  ...
ok 2 - takes lines
  ---
  duration_ms: 0.12
  ...
not ok 3 - refuses a negative amount
  ---
  error: 'expected an exception'
  ...
ok 4 - needs a network # SKIP offline
1..4
# pass 2
# fail 1
",
        &expect![[r#"
            TAP version 13
            [2 passing tests not shown]
            not ok 3 - refuses a negative amount
              ---
              error: 'expected an exception'
              ...
            ok 4 - needs a network # SKIP offline
            1..4
            # pass 2
            # fail 1
        "#]],
    );
}

#[test]
fn rows_of_builders() {
    check(
        "
npm warn deprecated inflight@1.0.6: This module is not supported
npm warn deprecated glob@7.2.3: Glob versions prior to v9 are no longer supported
npm warn deprecated rimraf@3.0.2: Rimraf versions prior to v4 are no longer supported
npm warn deprecated request@2.88.2: request has been deprecated
npm warn deprecated har-validator@5.1.5: this library is no longer supported
npm error code ERESOLVE
npm error Could not resolve dependency:

added 812 packages in 14s
[1/4] Building CXX object src/CMakeFiles/app.dir/main.cpp.o
[2/4] Building CXX object src/CMakeFiles/app.dir/store.cpp.o
[3/4] Building CXX object src/CMakeFiles/app.dir/report.cpp.o
[4/4] Building CXX object src/CMakeFiles/app.dir/cli.cpp.o
",
        &expect![[r#"
            npm warn deprecated inflight@1.0.6: This module is not supported
            [... 3 similar lines]
            npm warn deprecated har-validator@5.1.5: this library is no longer supported
            npm error code ERESOLVE
            npm error Could not resolve dependency:

            added 812 packages in 14s
            [1/4] Building CXX object src/CMakeFiles/app.dir/main.cpp.o
            [... 2 similar lines]
            [4/4] Building CXX object src/CMakeFiles/app.dir/cli.cpp.o
        "#]],
    );
}

#[test]
fn repeated_lines() {
    check(
        "
waiting for the database
waiting for the database
waiting for the database
12:00:01 poll 1: 200 OK in 31ms
12:00:02 poll 2: 200 OK in 29ms
12:00:03 poll 3: 200 OK in 1.2s
12:00:04 poll 4: 500 Internal Server Error in 30ms
12:00:05 poll 5: 500 Internal Server Error in 31ms
12:00:06 poll 6: 500 Internal Server Error in 32ms
12:00:07 poll 7: 500 Internal Server Error in 33ms
copied 10 MB of 2 GB (0.5%)
copied 400 MB of 2 GB (20%)
copied 900 MB of 2 GB (45%)
copied 1.6 GB of 2 GB (80%)
copied 2 GB of 2 GB (100%)
1 2
3 4
5 6
7 8
9 10
11 12
",
        &expect![[r#"
            waiting for the database
            [... 2 identical lines]
            12:00:01 poll 1: 200 OK in 31ms
            12:00:02 poll 2: 200 OK in 29ms
            12:00:03 poll 3: 200 OK in 1.2s
            12:00:04 poll 4: 500 Internal Server Error in 30ms
            12:00:05 poll 5: 500 Internal Server Error in 31ms
            12:00:06 poll 6: 500 Internal Server Error in 32ms
            12:00:07 poll 7: 500 Internal Server Error in 33ms
            copied 10 MB of 2 GB (0.5%)
            [... 3 similar lines]
            copied 2 GB of 2 GB (100%)
            1 2
            3 4
            5 6
            7 8
            9 10
            11 12
        "#]],
    );
}

#[test]
fn what_only_looks_like_a_passing_test_stays() {
    let raw = "checking for gcc ... ok
checking for ld ... ok
✓ 34 modules transformed.
✓ built in 1.20s
✔ Container shop-db-1   Started
✔ Container shop-web-1  Started
ok then
ok now
PASSWORD reset for anna
test report::tests::slow ... ignored
";
    let lines: Vec<&str> = raw.lines().collect();
    assert_eq!(condense(&lines), lines.iter().map(|line| PreviewLine::Verbatim(line)).collect::<Vec<_>>());
}

#[test]
fn a_warning_with_its_place_is_kept_among_lines_that_fold() {
    let raw = "read 1 of 9\nread 2 of 9\na.c:1: warning: x\na.c:2: warning: x\na.c:3: warning: x\na.c:4: warning: x\n";
    let lines: Vec<&str> = raw.lines().collect();
    assert_eq!(condense(&lines), lines.iter().map(|line| PreviewLine::Verbatim(line)).collect::<Vec<_>>());
}
