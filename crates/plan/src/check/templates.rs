//! Compiles the templates of the plan, and checks everything that is written in them.

use envelope::Catalog;
use serde_json::{Map, Value};

use super::draft::{Draft, DraftForeach, DraftStep};
use super::fields::At;
use super::place::Place;
use super::shape::{Kind, Shape};
use super::steps::RESERVED;
use super::typing::{self, Target};
use super::world::World;
use super::{habits, literals, looping, spelling, strings};
use crate::{Finding, FindingCode, Reference, Root, Scope, Severity, Template};

/// The templates of one step.
#[derive(Default)]
pub(super) struct Compiled {
    pub(super) args: Option<Template>,
    pub(super) preview: Option<Template>,
    pub(super) from: Option<Template>,
    /// The steps whose output is read.
    pub(super) reads: Vec<usize>,
}

pub(super) fn check_step<'a>(
    index: usize,
    step: &'a DraftStep<'a>,
    world: &World<'a>,
    catalog: &dyn Catalog,
    findings: &mut Vec<Finding>,
) -> Compiled {
    let before = findings.len();
    let mut compiled = Compiled::default();
    let mut place = Place {
        world,
        step: Some(index),
        label: step.label,
        pointer: String::new(),
        scope: Scope::default(),
        item: Shape::Unknown,
    };
    if let Some(foreach) = &step.foreach {
        if let Some(from) = &foreach.from {
            place.pointer.clone_from(&from.pointer);
            let template = compile(&place, from, findings);
            let looped = looping::check(&place, &template, from.value, findings);
            compiled.reads.extend(looped.reads);
            compiled.from = Some(template);
            place.item = looped.item;
        }
        place.scope = scope_of(foreach);
    }
    if let Some(args) = &step.args {
        place.pointer.clone_from(&args.pointer);
        compiled.args =
            Some(check_args(&place, args, world.tool(index), catalog, &mut compiled.reads, findings));
        habits::check(&place, args.value, world.has_effects(index), findings);
    }
    if let Some(preview) = &step.preview {
        place.pointer.clone_from(&preview.pointer);
        let template = compile(&place, preview, findings);
        let target = Target { name: None, shape: Shape::Plain(Kind::String) };
        compiled.reads.extend(typing::check(&place, &template, preview.value, &target, findings));
        compiled.preview = Some(template);
    }
    unused_foreach(step, &compiled, before, findings);
    compiled
}

/// The names that a foreach brings into its step. A loop whose names are missing is read with the usual ones.
fn scope_of<'a>(foreach: &'a DraftForeach<'_>) -> Scope<'a> {
    Scope {
        item_name: Some(foreach.item_name.as_ref().map_or("item", |at| at.value.as_str())),
        index_name: Some(foreach.index_name.as_ref().map_or("index", |at| at.value.as_str())),
    }
}

fn compile(place: &Place<'_, '_>, at: &At<&Value>, findings: &mut Vec<Finding>) -> Template {
    let mut notes = Vec::new();
    let template = Template::compile(at.value, &place.scope, &mut notes);
    spelling::check(place, at.value, notes, findings);
    template
}

fn check_args<'a>(
    place: &Place<'a, '_>,
    args: &At<&'a Value>,
    tool: Option<&'a envelope::ToolDecl>,
    catalog: &dyn Catalog,
    reads: &mut Vec<usize>,
    findings: &mut Vec<Finding>,
) -> Template {
    let template = compile(place, args, findings);
    let target = match tool {
        Some(tool) => Target {
            name: Some(tool.name.as_str()),
            shape: Shape::Schema { schema: &tool.input_schema, root: &tool.input_schema },
        },
        None => Target { name: None, shape: Shape::Unknown },
    };
    reads.extend(typing::check(place, &template, args.value, &target, findings));
    if let Some(name) = target.name {
        literals::check(place, name, &template, args.value, catalog, findings);
    }
    template
}

fn unused_foreach(step: &DraftStep<'_>, compiled: &Compiled, before: usize, findings: &mut Vec<Finding>) {
    let (Some(foreach), Some(args)) = (&step.foreach, &compiled.args) else {
        return;
    };
    let mut used = false;
    for template in [Some(args), compiled.preview.as_ref()].into_iter().flatten() {
        template.references(&mut |_, reference, _| {
            used |= matches!(reference.root, Root::Item(_) | Root::Index(_));
        });
    }
    // A reference in the wrong spelling is a use that failed, and has its own finding.
    let meant = findings.iter().skip(before).any(|finding| {
        matches!(
            finding.code,
            FindingCode::BadReference | FindingCode::ForeignTemplate | FindingCode::UnscopedBrace
        )
    });
    let item = scope_of(foreach).item_name.unwrap_or("item");
    // The same goes for an item that can never be named.
    if !used && !meant && !RESERVED.contains(&item) {
        findings.push(
            Finding::warning(
                FindingCode::UnusedForeach,
                foreach.pointer.clone(),
                "every item would make the same call: neither item nor position is used in `args`",
            )
            .hint(format!("use `{{{item}}}` or `${item}` in `args`, or remove the foreach"))
            .in_step(step.label),
        );
    }
}

/// Checks `outputs`. Returns the template and the steps it reads.
pub(super) fn check_outputs<'a>(
    draft: &Draft<'a>,
    world: &World<'a>,
    findings: &mut Vec<Finding>,
) -> (Template, Vec<usize>) {
    let mut outputs = Vec::new();
    let mut reads = Vec::new();
    for (name, at) in &draft.outputs {
        let place = Place {
            world,
            step: None,
            label: None,
            pointer: at.pointer.clone(),
            scope: Scope::default(),
            item: Shape::Unknown,
        };
        let template = compile(&place, at, findings);
        let target = Target { name: None, shape: Shape::Unknown };
        let mut found = Vec::new();
        reads.extend(typing::check(&place, &template, at.value, &target, &mut found));
        // An output that turns out to be absent is left out of the report; nothing fails.
        findings.extend(found.into_iter().filter(|finding| finding.severity == Severity::Error));
        outputs.push(((*name).to_owned(), template));
    }
    (as_one(outputs), reads)
}

/// Outputs without any reference are a literal like any other.
fn as_one(outputs: Vec<(String, Template)>) -> Template {
    let literals: Option<Map<String, Value>> = outputs
        .iter()
        .map(|(name, template)| match template {
            Template::Literal(value) => Some((name.clone(), value.clone())),
            Template::Whole(_) | Template::Text(_) | Template::List(_) | Template::Object(_) => None,
        })
        .collect();
    literals.map_or(Template::Object(outputs), |map| Template::Literal(Value::Object(map)))
}

/// Variables are values, not templates: a reference in one would never be replaced.
pub(super) fn check_vars(draft: &Draft<'_>, findings: &mut Vec<Finding>) {
    for (_, at) in &draft.vars {
        strings::each(at.value, &at.pointer, &mut |pointer, _, text| {
            let mut notes = Vec::new();
            let template = Template::compile(&Value::from(text), &Scope::default(), &mut notes);
            let mut first = None;
            template.references(&mut |_, reference, _| {
                first.get_or_insert_with(|| reference.clone());
            });
            if let Some(reference) = first {
                findings.push(in_vars(pointer, &reference));
            }
        });
    }
}

fn in_vars(pointer: &str, reference: &Reference) -> Finding {
    let hint = match &reference.root {
        Root::Steps(id) => format!(
            "write `{reference}` where the value is used, or give the step `{id}` a `captureAs` and refer to that"
        ),
        Root::Vars(_) | Root::Item(_) | Root::Index(_) => {
            format!("write the value itself, or `{reference}` where it is used")
        }
    };
    let message = format!("`vars` are taken as they are: `{reference}` in one is not replaced");
    Finding::error(FindingCode::BadReference, pointer, message).hint(hint)
}
