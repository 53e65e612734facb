//! Checks which crate must never depend on which: the crate table of the architecture, compared with cargo's graph.
//!
//! Normal dependencies count, direct and transitive. A rule about a crate that does not exist has no effect.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::Deserialize;

use super::problem::TidyProblem;

/// The crates that one crate must never depend on, however indirectly.
struct DependencyRule {
    krate: &'static str,
    never: &'static [&'static str],
    why: &'static str,
}

const RULES: &[DependencyRule] = &[
    DependencyRule {
        krate: "envelope",
        never: &[
            "tokio",
            "rustix",
            "cap-std",
            "plan",
            "journal",
            "toolkit",
            "engine",
            "vault",
            "host",
            "shell",
            "backend",
            "http-edge",
            "sentinel",
            "responses",
            "mcp-server",
            "call-session",
            "mcp-client",
        ],
        why: "the shared words are data: no I/O, no clock, no crate of ours below them",
    },
    DependencyRule {
        krate: "plan",
        never: &[
            "tokio",
            "rustix",
            "cap-std",
            "journal",
            "toolkit",
            "engine",
            "vault",
            "host",
            "shell",
            "backend",
            "http-edge",
            "sentinel",
            "responses",
            "mcp-server",
            "call-session",
        ],
        why: "a plan is checked and a run is decided without I/O, so that any driver decides the same",
    },
    DependencyRule {
        krate: "journal",
        never: &[
            "engine",
            "toolkit",
            "vault",
            "host",
            "shell",
            "backend",
            "http-edge",
            "sentinel",
            "responses",
            "mcp-server",
            "call-session",
            "axum",
        ],
        why: "a run is verified and replayed where no tool exists",
    },
    DependencyRule {
        krate: "command-line",
        never: &[
            "tokio",
            "rustix",
            "cap-std",
            "plan",
            "journal",
            "toolkit",
            "receipts",
            "engine",
            "vault",
            "host",
            "shell",
            "backend",
            "http-edge",
            "sentinel",
            "responses",
            "mcp-server",
            "call-session",
            "mcp-client",
            "axum",
        ],
        why: "a command is judged by its text alone, without I/O",
    },
    DependencyRule {
        krate: "receipts",
        never: &[
            "engine",
            "journal",
            "vault",
            "host",
            "shell",
            "backend",
            "http-edge",
            "sentinel",
            "responses",
            "mcp-server",
            "call-session",
            "mcp-client",
            "axum",
        ],
        why: "a receipt is rendered from a record, where no tool exists",
    },
    DependencyRule {
        krate: "toolkit",
        never: &[
            "receipts",
            "engine",
            "journal",
            "vault",
            "host",
            "shell",
            "backend",
            "http-edge",
            "sentinel",
            "responses",
            "mcp-server",
            "call-session",
            "axum",
        ],
        why: "an author of tools needs the contract, not the machine behind it",
    },
    DependencyRule {
        krate: "engine",
        never: &[
            "vault",
            "host",
            "shell",
            "backend",
            "http-edge",
            "sentinel",
            "responses",
            "mcp-server",
            "call-session",
            "mcp-client",
            "axum",
        ],
        why: "the twelve phases know tools only through their contract, and no network front end",
    },
    DependencyRule {
        krate: "notes",
        never: &[
            "tokio",
            "rustix",
            "cap-std",
            "plan",
            "journal",
            "toolkit",
            "engine",
            "vault",
            "host",
            "shell",
            "backend",
            "http-edge",
            "sentinel",
            "responses",
            "mcp-server",
            "call-session",
            "mcp-client",
        ],
        why: "the text of a note is parsed and edited without a file system",
    },
    DependencyRule {
        krate: "vault",
        never: &[
            "engine",
            "host",
            "shell",
            "backend",
            "http-edge",
            "sentinel",
            "responses",
            "mcp-server",
            "call-session",
            "axum",
        ],
        why: "a tool never decides whether it may run",
    },
    DependencyRule {
        krate: "host",
        never: &[
            "engine",
            "shell",
            "backend",
            "http-edge",
            "sentinel",
            "responses",
            "mcp-server",
            "call-session",
        ],
        why: "a tool never decides whether it may run",
    },
    DependencyRule {
        krate: "shell",
        never: &[
            "engine",
            "host",
            "backend",
            "http-edge",
            "sentinel",
            "responses",
            "mcp-server",
            "call-session",
        ],
        why: "a tool never decides whether it may run",
    },
    DependencyRule {
        krate: "backend",
        never: &[
            "engine",
            "http-edge",
            "sentinel",
            "responses",
            "mcp-server",
            "call-session",
            "journal",
            "toolkit",
            "vault",
            "host",
            "shell",
            "axum",
        ],
        why: "a model proposes; it reaches nothing that runs or records a call, and serves no client",
    },
    DependencyRule {
        krate: "mcp-client",
        never: &[
            "engine",
            "host",
            "vault",
            "backend",
            "http-edge",
            "sentinel",
            "responses",
            "mcp-server",
            "call-session",
            "journal",
            "axum",
        ],
        why: "a tool never decides whether it may run, wherever it was written",
    },
    DependencyRule {
        krate: "sentinel",
        never: &[
            "tokio",
            "rustix",
            "plan",
            "journal",
            "toolkit",
            "engine",
            "vault",
            "host",
            "shell",
            "backend",
            "http-edge",
            "responses",
            "mcp-server",
            "call-session",
            "mcp-client",
        ],
        why: "calls are found in a model's text without I/O, so that every split of the text can be tested",
    },
    DependencyRule {
        krate: "http-edge",
        never: &[
            "engine",
            "journal",
            "vault",
            "host",
            "shell",
            "responses",
            "mcp-server",
            "call-session",
            "sentinel",
            "mcp-client",
        ],
        why: "who may come in is decided in one place, which knows no route",
    },
    DependencyRule {
        krate: "call-session",
        never: &[
            "vault",
            "host",
            "shell",
            "backend",
            "http-edge",
            "responses",
            "mcp-server",
            "mcp-client",
            "axum",
        ],
        why: "a session of single calls is the same for every protocol",
    },
    DependencyRule {
        krate: "responses",
        never: &["vault", "host", "shell", "mcp-server", "mcp-client", "rmcp"],
        why: "each protocol can be read alone, and serves the tools that the binary wired",
    },
    DependencyRule {
        krate: "mcp-server",
        never: &["vault", "host", "shell", "responses", "sentinel", "mcp-client"],
        why: "each protocol can be read alone, and serves the tools that the binary wired",
    },
    DependencyRule {
        krate: "app",
        never: &[
            "clap",
            "indicatif",
            "anyhow",
            "axum",
            "backend",
            "http-edge",
            "mcp-server",
            "responses",
            "sentinel",
            "tollgate",
            "xtask",
        ],
        why: "every front end calls this library, so it knows none of them, no terminal and no arguments",
    },
];

/// The binaries: they may depend on anything, and may use `anyhow`, which loses the kind of an error.
const ENDS: [&str; 2] = ["tollgate", "xtask"];

/// The normal dependencies of every package, by name.
pub(crate) struct CrateGraph {
    members: BTreeSet<String>,
    edges: BTreeMap<String, BTreeSet<String>>,
}

impl CrateGraph {
    /// Parses the output of `cargo metadata --format-version 1`.
    pub(crate) fn parse(metadata: &str) -> serde_json::Result<CrateGraph> {
        let metadata: CargoMetadata = serde_json::from_str(metadata)?;
        let names: BTreeMap<&str, &str> =
            metadata.packages.iter().map(|package| (package.id.as_str(), package.name.as_str())).collect();
        let name = |id: &str| names.get(id).copied().unwrap_or(id).to_owned();
        let mut edges: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for node in &metadata.resolve.nodes {
            let normal = node.deps.iter().filter(|dep| dep.dep_kinds.iter().any(|kind| kind.kind.is_none()));
            edges.entry(name(&node.id)).or_default().extend(normal.map(|dep| name(&dep.pkg)));
        }
        Ok(CrateGraph { members: metadata.workspace_members.iter().map(|id| name(id)).collect(), edges })
    }

    fn direct(&self, krate: &str) -> impl Iterator<Item = &str> {
        self.edges.get(krate).into_iter().flatten().map(String::as_str)
    }

    /// For everything reachable from a crate, the package before it on a shortest path.
    fn reached_from<'a>(&'a self, krate: &'a str) -> BTreeMap<&'a str, &'a str> {
        let mut through = BTreeMap::new();
        let mut queue = VecDeque::from([krate]);
        while let Some(at) = queue.pop_front() {
            for next in self.direct(at) {
                if next != krate && !through.contains_key(next) {
                    through.insert(next, at);
                    queue.push_back(next);
                }
            }
        }
        through
    }
}

pub(crate) fn check(graph: &CrateGraph) -> Vec<TidyProblem> {
    let mut problems = Vec::new();
    for rule in RULES.iter().filter(|rule| graph.members.contains(rule.krate)) {
        let through = graph.reached_from(rule.krate);
        for forbidden in rule.never.iter().filter(|never| through.contains_key(**never)) {
            problems.push(TidyProblem::file(
                &manifest(rule.krate),
                format!("`{}` must never depend on `{forbidden}`: {}", rule.krate, path(&through, forbidden)),
                rule.why,
            ));
        }
    }
    for member in graph.members.iter().filter(|member| !ENDS.contains(&member.as_str())) {
        if !RULES.iter().any(|rule| rule.krate == member) {
            problems.push(TidyProblem::file(
                &manifest(member),
                format!("nothing says what `{member}` must never depend on"),
                "a crate exists to make an absence true; add its rule in xtask's `dependencies.rs`",
            ));
        }
        if graph.direct(member).any(|dep| dep == "anyhow") {
            problems.push(TidyProblem::file(
                &manifest(member),
                format!("`{member}` depends on `anyhow`"),
                "give the library a typed error; `anyhow` is for the binary and xtask",
            ));
        }
    }
    problems
}

fn manifest(krate: &str) -> String {
    format!("crates/{krate}/Cargo.toml")
}

/// `plan -> jsonschema -> tokio`.
fn path(through: &BTreeMap<&str, &str>, end: &str) -> String {
    let mut steps = vec![end];
    let mut at = end;
    while let Some(before) = through.get(at) {
        steps.push(before);
        at = before;
    }
    steps.reverse();
    steps.join(" -> ")
}

#[derive(Deserialize)]
struct CargoMetadata {
    packages: Vec<CargoPackage>,
    workspace_members: Vec<String>,
    resolve: ResolvedGraph,
}

#[derive(Deserialize)]
struct CargoPackage {
    id: String,
    name: String,
}

#[derive(Deserialize)]
struct ResolvedGraph {
    nodes: Vec<ResolvedCrate>,
}

#[derive(Deserialize)]
struct ResolvedCrate {
    id: String,
    deps: Vec<ResolvedDependency>,
}

#[derive(Deserialize)]
struct ResolvedDependency {
    pkg: String,
    dep_kinds: Vec<DependencyKind>,
}

#[derive(Deserialize)]
struct DependencyKind {
    /// `None` for a normal dependency, else `dev` or `build`.
    kind: Option<String>,
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::{Map, Value, json};

    use super::{CrateGraph, check};
    use crate::tidy::problem::listed;

    /// Edges as `from -> to`, or `from -dev-> to`, between crates of ours and others.
    fn case(edges: &[&str], expected: &Expect) {
        let mut nodes = Map::new();
        for edge in edges {
            let (from, kind, to) = match edge.split_once(" -dev-> ") {
                Some((from, to)) => (from, Some("dev"), to),
                None => edge.split_once(" -> ").map(|(from, to)| (from, None, to)).unwrap(),
            };
            for name in [from, to] {
                nodes.entry(name).or_insert_with(|| json!([]));
            }
            let dep = json!({"pkg": to, "dep_kinds": [{"kind": kind}]});
            nodes[from].as_array_mut().unwrap().push(dep);
        }
        let packages: Vec<Value> = nodes.keys().map(|name| json!({"id": name, "name": name})).collect();
        let members: Vec<&str> = ["plan", "engine", "journal", "tollgate", "planner"]
            .into_iter()
            .filter(|name| nodes.contains_key(*name))
            .collect();
        let resolved: Vec<Value> = nodes.iter().map(|(id, deps)| json!({"id": id, "deps": deps})).collect();
        let metadata =
            json!({"packages": packages, "workspace_members": members, "resolve": {"nodes": resolved}});
        expected.assert_eq(&listed(&check(&CrateGraph::parse(&metadata.to_string()).unwrap())));
    }

    #[test]
    fn the_intended_directions_pass() {
        case(
            &[
                "plan -> envelope",
                "journal -> plan",
                "journal -> tokio",
                "engine -> journal",
                "tollgate -> anyhow",
            ],
            &expect![""],
        );
    }

    #[test]
    fn a_forbidden_crate_is_named_with_the_way_to_it() {
        case(
            &["plan -> schema", "schema -> http", "http -> tokio", "journal -> engine"],
            &expect![[r"
                crates/plan/Cargo.toml: `plan` must never depend on `tokio`: plan -> schema -> http -> tokio: a plan is checked and a run is decided without I/O, so that any driver decides the same
                crates/journal/Cargo.toml: `journal` must never depend on `engine`: journal -> engine: a run is verified and replayed where no tool exists
            "]],
        );
    }

    #[test]
    fn a_test_may_use_what_the_crate_may_not() {
        case(&["plan -dev-> tokio", "engine -dev-> vault"], &expect![""]);
    }

    #[test]
    fn a_crate_of_ours_needs_a_rule() {
        case(
            &["planner -> serde"],
            &expect![[r"
                crates/planner/Cargo.toml: nothing says what `planner` must never depend on: a crate exists to make an absence true; add its rule in xtask's `dependencies.rs`
            "]],
        );
    }

    #[test]
    fn a_library_has_typed_errors() {
        case(
            &["engine -> anyhow"],
            &expect![[r"
                crates/engine/Cargo.toml: `engine` depends on `anyhow`: give the library a typed error; `anyhow` is for the binary and xtask
            "]],
        );
    }
}
