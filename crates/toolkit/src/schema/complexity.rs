//! Rejects a schema whose choices multiply.
//!
//! Twenty chained `anyOf` with two alternatives each are a kilobyte of text and a million checks of one value; a
//! schema that references itself twice inside a choice doubles the work with every level of the value. So this
//! module computes in advance the largest number of times that any one part of a value can be checked: for the
//! value itself, then one level deeper, and so on until the number is stable or exceeds the limit.
//!
//! The number is an upper bound: exclusive alternatives count as if all were tried, because all are tried when the
//! error is explained.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;

use super::SchemaError;
use super::formatter::name;
use super::reference_resolver::target;

/// Largest number of checks of one part of a value. A union of fifty objects stays below it.
const MAX_LOOKS: u64 = 1_000;
/// Deepest level of a value. JSON text is not parsed deeper than this.
const MAX_VALUE_DEPTH: usize = 128;
/// Bounds this check itself; a real schema needs some thousand steps.
const MAX_STEPS: usize = 2_000_000;

type NodeId = usize;

/// One subschema: the subschemas that check the same value, and those that check its parts.
#[derive(Default)]
struct SchemaNode {
    beside: Vec<NodeId>,
    properties: Vec<(String, NodeId)>,
    /// Applies to every property, whether named or not.
    every_property: Vec<NodeId>,
    /// Applies to properties that this node does not name.
    other_properties: Vec<NodeId>,
    leading_items: Vec<NodeId>,
    every_item: Vec<NodeId>,
    other_items: Vec<NodeId>,
}

/// A part of a value, as far as a schema distinguishes parts.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum ValuePart<'a> {
    Property(&'a str),
    OtherProperty,
    Item(usize),
    OtherItem,
}

pub(super) fn check(schema: &Value) -> Result<(), SchemaError> {
    let nodes = SchemaGraph::new(schema).build()?;
    let order = inner_first(&nodes)?;
    let mut steps = 0;
    // Checks of the value itself: the node and all subschemas beside it.
    let mut looks = vec![0_u64; nodes.len()];
    for &id in &order {
        looks[id] = nodes[id].beside.iter().fold(1, |sum, &beside| sum.saturating_add(looks[beside]));
    }
    let mut deeper = looks.clone();
    for _ in 0..MAX_VALUE_DEPTH {
        if deeper.iter().any(|&looks| looks > MAX_LOOKS) {
            return Err(SchemaError::TooManyPaths { limit: MAX_LOOKS });
        }
        let next = one_level_deeper(&nodes, &order, &deeper, &mut steps)?;
        if next == deeper {
            break;
        }
        deeper = next;
    }
    Ok(())
}

/// Computes for each node how often the most-checked part of a value is checked, given how often each node checks
/// its own value.
fn one_level_deeper(
    nodes: &[SchemaNode],
    order: &[NodeId],
    looks: &[u64],
    steps: &mut usize,
) -> Result<Vec<u64>, SchemaError> {
    let mut parts: Vec<BTreeMap<ValuePart<'_>, u64>> = Vec::new();
    parts.resize_with(nodes.len(), BTreeMap::new);
    for &id in order {
        let mut sum: BTreeMap<ValuePart<'_>, u64> = BTreeMap::new();
        let sources: Vec<BTreeMap<ValuePart<'_>, u64>> = std::iter::once(own_parts(&nodes[id], looks))
            .chain(nodes[id].beside.iter().map(|&beside| parts[beside].clone()))
            .collect();
        // A part that one node names is an "other" part for nodes that do not name it.
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
            return Err(SchemaError::TooManyPaths { limit: MAX_LOOKS });
        }
        parts[id] = sum;
    }
    Ok(parts.iter().map(|parts| parts.values().copied().max().unwrap_or(0)).collect())
}

fn at(parts: &BTreeMap<ValuePart<'_>, u64>, part: &ValuePart<'_>) -> u64 {
    let fallback = match part {
        ValuePart::Property(_) | ValuePart::OtherProperty => ValuePart::OtherProperty,
        ValuePart::Item(_) | ValuePart::OtherItem => ValuePart::OtherItem,
    };
    parts.get(part).or_else(|| parts.get(&fallback)).copied().unwrap_or(0)
}

fn own_parts<'a>(node: &'a SchemaNode, looks: &[u64]) -> BTreeMap<ValuePart<'a>, u64> {
    let total = |ids: &[NodeId]| ids.iter().fold(0_u64, |sum, &id| sum.saturating_add(looks[id]));
    let mut parts = BTreeMap::new();
    let every = total(&node.every_property);
    for (name, id) in &node.properties {
        parts.insert(ValuePart::Property(name), every.saturating_add(looks[*id]));
    }
    parts.insert(ValuePart::OtherProperty, every.saturating_add(total(&node.other_properties)));
    let every = total(&node.every_item);
    for (index, id) in node.leading_items.iter().enumerate() {
        parts.insert(ValuePart::Item(index), every.saturating_add(looks[*id]));
    }
    parts.insert(ValuePart::OtherItem, every.saturating_add(total(&node.other_items)));
    parts
}

/// Sorts the nodes so that each comes after those beside it. Fails if a node is beside itself.
fn inner_first(nodes: &[SchemaNode]) -> Result<Vec<NodeId>, SchemaError> {
    let mut waiting_for: Vec<usize> = nodes.iter().map(|node| node.beside.len()).collect();
    let mut waiters: Vec<Vec<NodeId>> = vec![Vec::new(); nodes.len()];
    for (id, node) in nodes.iter().enumerate() {
        for &beside in &node.beside {
            waiters[beside].push(id);
        }
    }
    let mut order: Vec<NodeId> = (0..nodes.len()).filter(|&id| waiting_for[id] == 0).collect();
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
        return Err(SchemaError::EndlessReference);
    }
    Ok(order)
}

/// Assigns a number to every reachable subschema. A subschema is identified by its address, so that a reference and
/// its target are one node.
struct SchemaGraph<'a> {
    root: &'a Value,
    ids: HashMap<*const Value, NodeId>,
    queue: Vec<&'a Value>,
}

impl<'a> SchemaGraph<'a> {
    fn new(root: &'a Value) -> SchemaGraph<'a> {
        SchemaGraph { root, ids: HashMap::new(), queue: Vec::new() }
    }

    fn build(mut self) -> Result<Vec<SchemaNode>, SchemaError> {
        let mut nodes = Vec::new();
        self.id(self.root);
        while let Some(&schema) = self.queue.get(nodes.len()) {
            nodes.push(self.node(schema)?);
        }
        Ok(nodes)
    }

    fn id(&mut self, schema: &'a Value) -> NodeId {
        let next = self.queue.len();
        *self.ids.entry(std::ptr::from_ref(schema)).or_insert_with(|| {
            self.queue.push(schema);
            next
        })
    }

    fn node(&mut self, schema: &'a Value) -> Result<SchemaNode, SchemaError> {
        let mut node = SchemaNode::default();
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

    /// The validator has accepted only `#` and `#/...`.
    fn resolve(&self, reference: &str) -> Result<&'a Value, SchemaError> {
        target(reference, self.root)
            .ok_or_else(|| SchemaError::DanglingReference { reference: name(reference) })
    }
}
