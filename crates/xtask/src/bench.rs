//! `cargo xtask bench`: the benchmarks of the workspace by name.

use crate::command::Shown;

pub(crate) struct Bench {
    name: &'static str,
    package: &'static str,
    about: &'static str,
}

const BENCHES: [Bench; 5] = [
    Bench {
        name: "gate",
        package: "engine",
        about: "cost of a call through the twelve phases, of a durable write, and of a foreach item",
    },
    Bench {
        name: "vault",
        package: "tollgate",
        about: "search, listing and durable creation in a vault of 50,000 notes, against ripgrep, fd and find",
    },
    Bench {
        name: "receipts",
        package: "tollgate",
        about: "tokens of receipts against the JSON that they stand for, and whether every fact is still said",
    },
    Bench {
        name: "commands",
        package: "tollgate",
        about: "a command that prints 5 GiB, against the same command into a file",
    },
    Bench {
        name: "scanner",
        package: "gateway",
        about: "finding calls in a model's text, piece by piece and at once, against a search for the tags alone",
    },
];

impl Bench {
    pub(crate) fn run(&self) -> anyhow::Result<bool> {
        let command = Shown::new(&["cargo", "bench", "-p", self.package, "--bench", self.name]);
        println!("==> {}: {}", self.name, self.about);
        let passed = command.run()?;
        if !passed {
            println!("\nFAILED: bench {}. Repeat it with:\n    {command}", self.name);
        }
        Ok(passed)
    }
}

pub(crate) fn find(name: &str) -> Option<&'static Bench> {
    BENCHES.iter().find(|bench| bench.name == name)
}

pub(crate) fn unknown(name: &str) -> String {
    let known: Vec<&str> = BENCHES.iter().map(|bench| bench.name).collect();
    format!("no benchmark is named `{name}`; there is: {}", known.join(", "))
}

pub(crate) fn bench_all() -> anyhow::Result<bool> {
    for bench in &BENCHES {
        if !bench.run()? {
            return Ok(false);
        }
    }
    Ok(true)
}
