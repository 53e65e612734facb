//! Which crate must never reach which: the crate table of the architecture, compared with cargo's own graph.
//!
//! Normal dependencies count, direct and transitive. A crate exists to make an absence true; this is where
//! the absence is held. A crate that is not there yet breaks nothing.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::Deserialize;

use super::problem::Problem;

/// What one crate must never depend on, however indirectly.
struct Rule {
    krate: &'static str,
    never: &'static [&'static str],
    why: &'static str,
}

const RULES: [Rule; 11] = [
    Rule {
        krate: "envelope",
        never: &[
            "tokio", "rustix", "cap-std", "plan", "journal", "toolkit", "engine", "vault", "host", "shell",
            "backend", "gateway", "upstream",
        ],
        why: "the shared words are data: no I/O, no clock, no crate of ours below them",
    },
    Rule {
        krate: "plan",
        never: &[
            "tokio", "rustix", "cap-std", "journal", "toolkit", "engine", "vault", "host", "shell",
            "backend", "gateway",
        ],
        why: "a plan is checked and a run is decided without I/O, so that any driver decides the same",
    },
    Rule {
        krate: "journal",
        never: &["engine", "toolkit", "vault", "host", "shell", "backend", "gateway", "axum"],
        why: "a run is verified and replayed where no tool exists",
    },
    Rule {
        krate: "toolkit",
        never: &["engine", "journal", "vault", "host", "shell", "backend", "gateway", "axum"],
        why: "an author of tools needs the contract, not the machine behind it",
    },
    Rule {
        krate: "engine",
        never: &["vault", "host", "shell", "backend", "gateway", "upstream", "axum"],
        why: "the twelve phases know tools only through their contract, and no network face",
    },
    Rule {
        krate: "vault",
        never: &["engine", "host", "shell", "backend", "gateway", "axum"],
        why: "a tool never decides whether it may run",
    },
    Rule {
        krate: "host",
        never: &["engine", "shell", "backend", "gateway"],
        why: "a tool never decides whether it may run",
    },
    Rule {
        krate: "shell",
        never: &["engine", "host", "backend", "gateway"],
        why: "a tool never decides whether it may run",
    },
    Rule {
        krate: "backend",
        never: &["engine", "gateway", "journal", "toolkit", "vault", "host", "shell", "axum"],
        why: "a model proposes; it reaches nothing that runs or records a call, and serves nobody",
    },
    Rule {
        krate: "upstream",
        never: &["engine", "host", "vault", "backend", "gateway", "journal", "axum"],
        why: "a tool never decides whether it may run, wherever it was written",
    },
    Rule {
        krate: "gateway",
        never: &["vault", "host", "shell", "upstream"],
        why: "a network face serves whatever tools the binary wired",
    },
];

/// The ends of the program: they may depend on anything, and may use `anyhow`, which loses the kind of an
/// error.
const ENDS: [&str; 2] = ["tollgate", "xtask"];

/// The normal dependencies of every package, by name.
pub(crate) struct Graph {
    members: BTreeSet<String>,
    edges: BTreeMap<String, BTreeSet<String>>,
}

impl Graph {
    /// Reads the answer of `cargo metadata --format-version 1`.
    pub(crate) fn parse(metadata: &str) -> serde_json::Result<Graph> {
        let metadata: Metadata = serde_json::from_str(metadata)?;
        let names: BTreeMap<&str, &str> =
            metadata.packages.iter().map(|package| (package.id.as_str(), package.name.as_str())).collect();
        let name = |id: &str| names.get(id).copied().unwrap_or(id).to_owned();
        let mut edges: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for node in &metadata.resolve.nodes {
            let normal = node.deps.iter().filter(|dep| dep.dep_kinds.iter().any(|kind| kind.kind.is_none()));
            edges.entry(name(&node.id)).or_default().extend(normal.map(|dep| name(&dep.pkg)));
        }
        Ok(Graph { members: metadata.workspace_members.iter().map(|id| name(id)).collect(), edges })
    }

    fn direct(&self, krate: &str) -> impl Iterator<Item = &str> {
        self.edges.get(krate).into_iter().flatten().map(String::as_str)
    }

    /// For everything reachable from a crate, the package through which a shortest path reaches it.
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

pub(crate) fn check(graph: &Graph) -> Vec<Problem> {
    let mut problems = Vec::new();
    for rule in RULES.iter().filter(|rule| graph.members.contains(rule.krate)) {
        let through = graph.reached_from(rule.krate);
        for forbidden in rule.never.iter().filter(|never| through.contains_key(**never)) {
            problems.push(Problem::file(
                &manifest(rule.krate),
                format!("`{}` must never depend on `{forbidden}`: {}", rule.krate, path(&through, forbidden)),
                rule.why,
            ));
        }
    }
    for member in graph.members.iter().filter(|member| !ENDS.contains(&member.as_str())) {
        if !RULES.iter().any(|rule| rule.krate == member) {
            problems.push(Problem::file(
                &manifest(member),
                format!("nothing says what `{member}` must never depend on"),
                "a crate exists to make an absence true; add its rule in xtask's `dependencies.rs`",
            ));
        }
        if graph.direct(member).any(|dep| dep == "anyhow") {
            problems.push(Problem::file(
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
struct Metadata {
    packages: Vec<Package>,
    workspace_members: Vec<String>,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct Package {
    id: String,
    name: String,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Dep>,
}

#[derive(Deserialize)]
struct Dep {
    pkg: String,
    dep_kinds: Vec<DepKind>,
}

#[derive(Deserialize)]
struct DepKind {
    /// None for a normal dependency, else `dev` or `build`.
    kind: Option<String>,
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::{Map, Value, json};

    use super::{Graph, check};
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
        expected.assert_eq(&listed(&check(&Graph::parse(&metadata.to_string()).unwrap())));
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
