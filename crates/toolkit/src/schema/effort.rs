//! Refuses a schema whose choices multiply.
//!
//! Twenty `anyOf` that lead from one to the next, each with two ways on, are a kilobyte of text and a million
//! checks of one value; a schema that names itself twice inside a choice doubles with every level of the
//! value. So the most often that any one part of a value can be looked at is computed beforehand: at the
//! value itself, then one level deeper, and so on until the figure stands still or passes the limit.
//!
//! What is counted is an upper bound: alternatives that exclude each other count as if all were tried,
//! because all are tried when the mistake has to be explained.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;

use super::SchemaRefused;
use super::reference::target;
use super::words::name;

/// How often one part of a value may be looked at. A union of fifty objects stays below it.
const MAX_LOOKS: u64 = 1_000;
/// JSON text is not read deeper than this, so no value goes further.
const MAX_VALUE_DEPTH: usize = 128;
/// Bounds this check itself; a real schema needs some thousands.
const MAX_STEPS: usize = 2_000_000;

type Id = usize;

/// One subschema: what else looks at the same value, and what looks at the parts of it.
#[derive(Default)]
struct Node {
    beside: Vec<Id>,
    properties: Vec<(String, Id)>,
    /// For every property, whether named or not.
    every_property: Vec<Id>,
    /// For properties that this node does not name.
    other_properties: Vec<Id>,
    leading_items: Vec<Id>,
    every_item: Vec<Id>,
    other_items: Vec<Id>,
}

/// A part of a value, as far as a schema tells parts apart.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Part<'a> {
    Property(&'a str),
    OtherProperty,
    Item(usize),
    OtherItem,
}

pub(super) fn check(schema: &Value) -> Result<(), SchemaRefused> {
    let nodes = Graph::new(schema).build()?;
    let order = inner_first(&nodes)?;
    let mut steps = 0;
    // Looks at the value itself: the node and all that stand beside it.
    let mut looks = vec![0_u64; nodes.len()];
    for &id in &order {
        looks[id] = nodes[id].beside.iter().fold(1, |sum, &beside| sum.saturating_add(looks[beside]));
    }
    let mut deeper = looks.clone();
    for _ in 0..MAX_VALUE_DEPTH {
        if deeper.iter().any(|&looks| looks > MAX_LOOKS) {
            return Err(SchemaRefused::TooManyPaths { limit: MAX_LOOKS });
        }
        let next = one_level_deeper(&nodes, &order, &deeper, &mut steps)?;
        if next == deeper {
            break;
        }
        deeper = next;
    }
    Ok(())
}

/// For each node, how often the busiest part of a value is looked at, given how often each node looks at
/// what it is given.
fn one_level_deeper(
    nodes: &[Node],
    order: &[Id],
    looks: &[u64],
    steps: &mut usize,
) -> Result<Vec<u64>, SchemaRefused> {
    let mut parts: Vec<BTreeMap<Part<'_>, u64>> = Vec::new();
    parts.resize_with(nodes.len(), BTreeMap::new);
    for &id in order {
        let mut sum: BTreeMap<Part<'_>, u64> = BTreeMap::new();
        let sources: Vec<BTreeMap<Part<'_>, u64>> = std::iter::once(own_parts(&nodes[id], looks))
            .chain(nodes[id].beside.iter().map(|&beside| parts[beside].clone()))
            .collect();
        // A part that one of them names is an "other" part for those that do not.
        for part in sources.iter().flat_map(BTreeMap::keys) {
            if sum.contains_key(part) {
                continue;
            }
            *steps += sources.len();
            let total = sources.iter().fold(0_u64, |total, source| total.saturating_add(at(source, part)));
            sum.insert(part.clone(), total);
        }
        *steps += 1;
        if *steps > MAX_STEPS {
            return Err(SchemaRefused::TooManyPaths { limit: MAX_LOOKS });
        }
        parts[id] = sum;
    }
    Ok(parts.iter().map(|parts| parts.values().copied().max().unwrap_or(0)).collect())
}

fn at(parts: &BTreeMap<Part<'_>, u64>, part: &Part<'_>) -> u64 {
    let fallback = match part {
        Part::Property(_) | Part::OtherProperty => Part::OtherProperty,
        Part::Item(_) | Part::OtherItem => Part::OtherItem,
    };
    parts.get(part).or_else(|| parts.get(&fallback)).copied().unwrap_or(0)
}

fn own_parts<'a>(node: &'a Node, looks: &[u64]) -> BTreeMap<Part<'a>, u64> {
    let total = |ids: &[Id]| ids.iter().fold(0_u64, |sum, &id| sum.saturating_add(looks[id]));
    let mut parts = BTreeMap::new();
    let every = total(&node.every_property);
    for (name, id) in &node.properties {
        parts.insert(Part::Property(name), every.saturating_add(looks[*id]));
    }
    parts.insert(Part::OtherProperty, every.saturating_add(total(&node.other_properties)));
    let every = total(&node.every_item);
    for (index, id) in node.leading_items.iter().enumerate() {
        parts.insert(Part::Item(index), every.saturating_add(looks[*id]));
    }
    parts.insert(Part::OtherItem, every.saturating_add(total(&node.other_items)));
    parts
}

/// The nodes so that each comes after those beside it. Fails when a node stands beside itself.
fn inner_first(nodes: &[Node]) -> Result<Vec<Id>, SchemaRefused> {
    let mut waiting_for: Vec<usize> = nodes.iter().map(|node| node.beside.len()).collect();
    let mut waiters: Vec<Vec<Id>> = vec![Vec::new(); nodes.len()];
    for (id, node) in nodes.iter().enumerate() {
        for &beside in &node.beside {
            waiters[beside].push(id);
        }
    }
    let mut order: Vec<Id> = (0..nodes.len()).filter(|&id| waiting_for[id] == 0).collect();
    let mut next = 0;
    while let Some(&id) = order.get(next) {
        next += 1;
        for &waiter in &waiters[id] {
            waiting_for[waiter] -= 1;
            if waiting_for[waiter] == 0 {
                order.push(waiter);
            }
        }
    }
    if order.len() < nodes.len() {
        return Err(SchemaRefused::EndlessReference);
    }
    Ok(order)
}

/// Gives every subschema that can be reached a number. A subschema is known by its address, so that a
/// reference and the place it names are one node.
struct Graph<'a> {
    root: &'a Value,
    ids: HashMap<*const Value, Id>,
    queue: Vec<&'a Value>,
}

impl<'a> Graph<'a> {
    fn new(root: &'a Value) -> Graph<'a> {
        Graph { root, ids: HashMap::new(), queue: Vec::new() }
    }

    fn build(mut self) -> Result<Vec<Node>, SchemaRefused> {
        let mut nodes = Vec::new();
        self.id(self.root);
        while let Some(&schema) = self.queue.get(nodes.len()) {
            nodes.push(self.node(schema)?);
        }
        Ok(nodes)
    }

    fn id(&mut self, schema: &'a Value) -> Id {
        let next = self.queue.len();
        *self.ids.entry(std::ptr::from_ref(schema)).or_insert_with(|| {
            self.queue.push(schema);
            next
        })
    }

    fn node(&mut self, schema: &'a Value) -> Result<Node, SchemaRefused> {
        let mut node = Node::default();
        let Value::Object(map) = schema else { return Ok(node) };
        for (key, value) in map {
            match (key.as_str(), value) {
                ("$ref", Value::String(reference)) => {
                    let target = self.resolve(reference)?;
                    node.beside.push(self.id(target));
                }
                ("allOf" | "anyOf" | "oneOf", Value::Array(items)) => {
                    node.beside.extend(items.iter().map(|item| self.id(item)));
                }
                ("not" | "if" | "then" | "else", _) => node.beside.push(self.id(value)),
                ("dependentSchemas" | "dependencies", Value::Object(map)) => {
                    node.beside.extend(map.values().map(|item| self.id(item)));
                }
                ("properties", Value::Object(map)) => {
                    node.properties = map.iter().map(|(key, item)| (key.clone(), self.id(item))).collect();
                }
                ("patternProperties", Value::Object(map)) => {
                    node.every_property.extend(map.values().map(|item| self.id(item)));
                }
                ("unevaluatedProperties", _) => node.every_property.push(self.id(value)),
                ("additionalProperties", _) => node.other_properties.push(self.id(value)),
                ("prefixItems" | "items", Value::Array(items)) => {
                    node.leading_items = items.iter().map(|item| self.id(item)).collect();
                }
                ("items" | "additionalItems", _) => node.other_items.push(self.id(value)),
                ("contains" | "unevaluatedItems", _) => node.every_item.push(self.id(value)),
                _ => {}
            }
        }
        Ok(node)
    }

    /// The screen has let through only `#` and `#/...`.
    fn resolve(&self, reference: &str) -> Result<&'a Value, SchemaRefused> {
        target(reference, self.root)
            .ok_or_else(|| SchemaRefused::DanglingReference { reference: name(reference) })
    }
}
