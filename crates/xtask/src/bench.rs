//! `cargo xtask bench`: runs the benchmarks of the workspace by name.

use crate::command::ToolCommand;
use crate::dist;

pub(crate) struct BenchTarget {
    name: &'static str,
    package: &'static str,
    about: &'static str,
    /// Measures the shipped program, if there is one.
    takes_shipped: bool,
}

const BENCHES: [BenchTarget; 7] = [
    BenchTarget {
        name: "gate",
        package: "engine",
        about: "cost of a call through the twelve phases, of a durable write, and of a foreach item",
        takes_shipped: false,
    },
    BenchTarget {
        name: "vault",
        package: "tollgate",
        about: "search, listing and durable creation in a vault of 50,000 notes, against ripgrep, fd and find",
        takes_shipped: false,
    },
    BenchTarget {
        name: "receipts",
        package: "tollgate",
        about: "tokens of receipts against the JSON that they stand for, and whether every fact is still said",
        takes_shipped: false,
    },
    BenchTarget {
        name: "commands",
        package: "tollgate",
        about: "a command that prints 5 GiB, against the same command into a file",
        takes_shipped: false,
    },
    BenchTarget {
        name: "scanner",
        package: "sentinel",
        about: "finding calls in a model's text, piece by piece and at once, against a search for the tags alone",
        takes_shipped: false,
    },
    BenchTarget {
        name: "responses",
        package: "tollgate",
        about: "requests through the server, against the model's server itself, a relay, smg and LiteLLM",
        takes_shipped: true,
    },
    BenchTarget {
        name: "mcp",
        package: "mcp-server",
        about: "a trivial tool call over MCP, on pipes and over HTTP, against rmcp with the same tool and no gate",
        takes_shipped: false,
    },
];

const NOT_SHIPPED: &str = "    of the program as `cargo install --profile dist` builds it: there is none by `cargo xtask dist`, or \
                           it is older than its sources";

/// Benchmarks that are run before another one.
const BEFORE: [(&str, &str); 1] = [("responses", "scanner")];

impl BenchTarget {
    pub(crate) fn run(&self) -> anyhow::Result<bool> {
        // The profile of the program that users install.
        let words = ["cargo", "bench", "--profile", "dist", "-p", self.package, "--bench", self.name];
        let mut command = ToolCommand::new(&words);
        println!("==> {}: {}", self.name, self.about);
        if self.takes_shipped {
            match dist::shipped()? {
                Some(program) => {
                    println!("    of the program as `cargo xtask dist` has built it");
                    command = command.env(&[("TOLLGATE_BENCH_PROGRAM", &program.display().to_string())]);
                }
                None => println!("{NOT_SHIPPED}"),
            }
        }
        let passed = command.run()?;
        if !passed {
            println!("\nFAILED: bench {}. Repeat it with:\n    {command}", self.name);
        }
        Ok(passed)
    }
}

/// Returns the benchmark of this name, and before it those that belong to it.
pub(crate) fn find(name: &str) -> Option<Vec<&'static BenchTarget>> {
    let named = |name: &str| BENCHES.iter().find(|bench| bench.name == name);
    let before = BEFORE.iter().filter(|(of, _)| *of == name).filter_map(|(_, first)| named(first));
    Some(before.chain([named(name)?]).collect())
}

pub(crate) fn unknown(name: &str) -> String {
    let known: Vec<&str> = BENCHES.iter().map(|bench| bench.name).collect();
    format!("no benchmark is named `{name}`; there is: {}", known.join(", "))
}

pub(crate) fn bench_all() -> anyhow::Result<bool> {
    run_all(&BENCHES.iter().collect::<Vec<_>>())
}

/// Runs the benchmarks one after the other, up to the first failure.
pub(crate) fn run_all(benches: &[&BenchTarget]) -> anyhow::Result<bool> {
    for bench in benches {
        if !bench.run()? {
            return Ok(false);
        }
    }
    Ok(true)
}
