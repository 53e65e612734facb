//! Compiles the templates of the plan and checks their content.

use envelope::ToolCatalog;
use serde_json::{Map, Value};

use super::draft::{DraftForeach, DraftStep, PlanDraft};
use super::object_fields::LocatedValue;
use super::shape::{JsonType, ValueShape};
use super::steps::RESERVED;
use super::symbol_table::SymbolTable;
use super::template_context::TemplateContext;
use super::type_check::{self, TemplateTarget};
use super::{foreach_list, literals, placeholders, spelling};
use crate::{
    BraceRule, FindingCode, PlanFinding, Reference, ReferenceRoot, Severity, Template, TemplateScope,
    json_pointer,
};

/// The compiled templates of one step.
#[derive(Default)]
pub(super) struct CompiledStep {
    pub(super) args: Option<Template>,
    pub(super) preview: Option<Template>,
    pub(super) from: Option<Template>,
    /// Steps whose output the templates read.
    pub(super) reads: Vec<usize>,
}

pub(super) fn check_step<'a>(
    index: usize,
    step: &'a DraftStep<'a>,
    world: &SymbolTable<'a>,
    catalog: &dyn ToolCatalog,
    findings: &mut Vec<PlanFinding>,
) -> CompiledStep {
    let before = findings.len();
    let mut compiled = CompiledStep::default();
    let mut place = TemplateContext {
        world,
        step: Some(index),
        label: step.label,
        pointer: String::new(),
        scope: TemplateScope { braces: world.braces, ..TemplateScope::default() },
        item: ValueShape::Unknown,
    };
    if let Some(foreach) = &step.foreach {
        if let Some(from) = &foreach.from {
            place.pointer.clone_from(&from.pointer);
            let template = compile(&place, from, findings);
            let looped = foreach_list::check(&place, &template, from.value, findings);
            compiled.reads.extend(looped.reads);
            compiled.from = Some(template);
            place.item = looped.item;
        }
        place.scope = scope_of(foreach, world.braces);
    }
    if let Some(args) = &step.args {
        place.pointer.clone_from(&args.pointer);
        compiled.args =
            Some(check_args(&place, args, world.tool(index), catalog, &mut compiled.reads, findings));
        placeholders::check(&place, args.value, world.has_effects(index), findings);
    }
    if let Some(preview) = &step.preview {
        place.pointer.clone_from(&preview.pointer);
        let template = compile(&place, preview, findings);
        let target = TemplateTarget { name: None, shape: ValueShape::Plain(JsonType::String) };
        compiled.reads.extend(type_check::check(&place, &template, preview.value, &target, findings));
        compiled.preview = Some(template);
    }
    unused_foreach(step, &compiled, before, findings);
    compiled
}

/// Returns the names that a foreach defines in its step. Missing names are replaced by the usual ones.
fn scope_of<'a>(foreach: &'a DraftForeach<'_>, braces: BraceRule) -> TemplateScope<'a> {
    TemplateScope {
        braces,
        item_name: Some(foreach.item_name.as_ref().map_or("item", |at| at.value.as_str())),
        index_name: Some(foreach.index_name.as_ref().map_or("index", |at| at.value.as_str())),
    }
}

fn compile(
    place: &TemplateContext<'_, '_>,
    at: &LocatedValue<&Value>,
    findings: &mut Vec<PlanFinding>,
) -> Template {
    let mut notes = Vec::new();
    let template = Template::compile(at.value, &place.scope, &mut notes);
    spelling::check(place, at.value, notes, findings);
    template
}

fn check_args<'a>(
    place: &TemplateContext<'a, '_>,
    args: &LocatedValue<&'a Value>,
    tool: Option<&'a envelope::ToolDecl>,
    catalog: &dyn ToolCatalog,
    reads: &mut Vec<usize>,
    findings: &mut Vec<PlanFinding>,
) -> Template {
    let template = compile(place, args, findings);
    let target = match tool {
        Some(tool) => TemplateTarget {
            name: Some(tool.name.as_str()),
            shape: ValueShape::Schema { schema: &tool.input_schema, root: &tool.input_schema },
        },
        None => TemplateTarget { name: None, shape: ValueShape::Unknown },
    };
    reads.extend(type_check::check(place, &template, args.value, &target, findings));
    if let Some(name) = target.name {
        literals::check(place, name, &template, args.value, catalog, findings);
    }
    findings.extend(tool.and_then(|tool| request_id(place, args, &tool.input_schema)));
    template
}

/// Warns of a `requestId` that is not an argument of the tool itself: it traces a call through the program that makes it,
/// which the planner does not know.
fn request_id(
    place: &TemplateContext<'_, '_>,
    args: &LocatedValue<&Value>,
    input_schema: &Value,
) -> Option<PlanFinding> {
    let is_own = input_schema.pointer("/properties/requestId").is_some();
    args.value.get("requestId").filter(|_| !is_own)?;
    let finding = PlanFinding::warning(
        FindingCode::RequestIdInPlan,
        format!("{}/requestId", args.pointer),
        "`requestId` is for the program that makes the call, not for the planner",
    );
    Some(finding.hint("leave it out, or write a `note` for people").in_step(place.label))
}

fn unused_foreach(
    step: &DraftStep<'_>,
    compiled: &CompiledStep,
    before: usize,
    findings: &mut Vec<PlanFinding>,
) {
    let (Some(foreach), Some(args)) = (&step.foreach, &compiled.args) else {
        return;
    };
    let mut used = false;
    for template in [Some(args), compiled.preview.as_ref()].into_iter().flatten() {
        template.references(&mut |_, reference, _| {
            used |= matches!(reference.root, ReferenceRoot::Item(_) | ReferenceRoot::Index(_));
        });
    }
    // A misspelt reference is an attempted use and has its own finding.
    let meant = findings.iter().skip(before).any(|finding| {
        matches!(
            finding.code,
            FindingCode::BadReference | FindingCode::ForeignTemplate | FindingCode::UnscopedBrace
        )
    });
    let item = scope_of(foreach, BraceRule::default()).item_name.unwrap_or("item");
    // The same applies to an item name that cannot be used in a reference.
    if !used && !meant && !RESERVED.contains(&item) {
        findings.push(
            PlanFinding::warning(
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
    draft: &PlanDraft<'a>,
    world: &SymbolTable<'a>,
    findings: &mut Vec<PlanFinding>,
) -> (Template, Vec<usize>) {
    let mut outputs = Vec::new();
    let mut reads = Vec::new();
    for (name, at) in &draft.outputs {
        let place = TemplateContext {
            world,
            step: None,
            label: None,
            pointer: at.pointer.clone(),
            scope: TemplateScope { braces: world.braces, ..TemplateScope::default() },
            item: ValueShape::Unknown,
        };
        let template = compile(&place, at, findings);
        let target = TemplateTarget { name: None, shape: ValueShape::Unknown };
        let mut found = Vec::new();
        reads.extend(type_check::check(&place, &template, at.value, &target, &mut found));
        // An output without a value is left out of the report; nothing fails.
        findings.extend(found.into_iter().filter(|finding| finding.severity == Severity::Error));
        outputs.push(((*name).to_owned(), template));
    }
    (merge_outputs(outputs), reads)
}

/// Outputs without references become a literal.
fn merge_outputs(outputs: Vec<(String, Template)>) -> Template {
    let literals: Option<Map<String, Value>> = outputs
        .iter()
        .map(|(name, template)| match template {
            Template::Literal(value) => Some((name.clone(), value.clone())),
            Template::Whole(_) | Template::Text(_) | Template::List(_) | Template::Object(_) => None,
        })
        .collect();
    literals.map_or(Template::Object(outputs), |map| Template::Literal(Value::Object(map)))
}

/// Variables are values, not templates: a reference in one would not be replaced.
pub(super) fn check_vars(draft: &PlanDraft<'_>, findings: &mut Vec<PlanFinding>) {
    for (_, at) in &draft.vars {
        json_pointer::visit_strings(at.value, &at.pointer, &mut |pointer, _, text| {
            let mut notes = Vec::new();
            let template = Template::compile(&Value::from(text), &TemplateScope::default(), &mut notes);
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

fn in_vars(pointer: &str, reference: &Reference) -> PlanFinding {
    let hint = match &reference.root {
        ReferenceRoot::Steps(id) => format!(
            "write `{reference}` where the value is used, or give the step `{id}` a `captureAs` and refer to that"
        ),
        ReferenceRoot::Vars(_) | ReferenceRoot::Item(_) | ReferenceRoot::Index(_) => {
            format!("write the value itself, or `{reference}` where it is used")
        }
    };
    let message = format!("`vars` are taken as they are: `{reference}` in one is not replaced");
    PlanFinding::error(FindingCode::BadReference, pointer, message).hint(hint)
}
