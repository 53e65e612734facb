//! Turns a complete block into a call, or into a fault.

use super::arguments;
use super::fault::BlockFault;
use super::json::{JsonTokenizer, MOST_MEMBERS, MemberKind, ObjectMember, repaired, unescape};
use super::text_segment::FoundCall;
use super::tool_names::ToolNames;

/// Keys that models add and that have no meaning.
const IGNORED: [&str; 2] = ["id", "type"];

/// The relevant members of a block.
#[derive(Default)]
struct BlockMembers {
    name: Option<ObjectMember>,
    arguments: Option<ObjectMember>,
    /// The first unexpected key.
    unexpected: Option<String>,
}

/// A fault, and the name in the block if it could be read.
pub(super) type NamedFault = (BlockFault, Option<String>);

/// Returns the call of a block. `body` is the text between the tags. Fails if it is not a valid call of a known tool.
pub(super) fn parse_call(
    body: &str,
    tokenizer: &mut JsonTokenizer,
    names: &ToolNames,
) -> Result<FoundCall, NamedFault> {
    let parts = collect_members(body, tokenizer).map_err(|why| (why, readable_name(body, tokenizer)))?;
    let name = match &parts.name {
        Some(ObjectMember { value, kind: MemberKind::Text, .. }) => {
            unescape(&body[value.clone()]).into_owned()
        }
        Some(ObjectMember { kind: MemberKind::Object | MemberKind::Other, .. }) => {
            return Err((BlockFault::NameNotAString, None));
        }
        None => return Err((BlockFault::NameMissing, None)),
    };
    let Some((name, strict)) = names.resolve(&name).map(|(name, strict)| (name.to_owned(), strict)) else {
        return Err((BlockFault::UnknownName { name: name.clone() }, Some(name)));
    };
    match check_call(body, tokenizer, parts, strict) {
        Ok((arguments, repaired, as_object)) => Ok(FoundCall { name, arguments, repaired, as_object }),
        Err(why) => Err((why, Some(name))),
    }
}

/// Returns the arguments, whether they were repaired, and whether they were an object.
fn check_call(
    body: &str,
    tokenizer: &mut JsonTokenizer,
    parts: BlockMembers,
    strict: bool,
) -> Result<(String, bool, bool), BlockFault> {
    if let Some(key) = parts.unexpected
        && (strict || parts.arguments.is_none())
    {
        return Err(BlockFault::UnexpectedKey { key });
    }
    let (repairs, is_fenced) = (tokenizer.repairs(), tokenizer.is_fenced());
    let (arguments, inner_repair, as_object) = match parts.arguments {
        None => (arguments::NONE.to_owned(), None, false),
        Some(ObjectMember { value, kind: MemberKind::Text, .. }) => {
            let (text, what) = arguments::parse_arguments(unescape(&body[value]).into_owned(), tokenizer)?;
            (text, what, false)
        }
        Some(ObjectMember { value, kind: MemberKind::Object, .. }) => {
            let written = &body[value.clone()];
            let text = match repairs.description() {
                Some(_) => repaired(written, repairs.stray_in(&value)),
                None => written.to_owned(),
            };
            (text, None, true)
        }
        Some(ObjectMember { kind: MemberKind::Other, .. }) => return Err(BlockFault::ArgumentsNotAString),
    };
    match repairs.description().or(inner_repair) {
        Some(what) if strict => Err(BlockFault::NeedsRepair { what }),
        what => Ok((arguments, what.is_some() || is_fenced, as_object)),
    }
}

/// Returns the name in a block, if one can be read. `body` may be cut off.
pub(super) fn readable_name(body: &str, tokenizer: &JsonTokenizer) -> Option<String> {
    let named =
        |member: &&ObjectMember| body.get(member.key.clone()).is_some_and(|key| unescape(key) == "name");
    let member = tokenizer.members().complete().iter().find(named)?;
    let written = body.get(member.value.clone()).filter(|_| member.kind == MemberKind::Text)?;
    Some(unescape(written).into_owned())
}

fn collect_members(body: &str, tokenizer: &JsonTokenizer) -> Result<BlockMembers, BlockFault> {
    let members = tokenizer.members().complete();
    if tokenizer.members().has_more() {
        return Err(BlockFault::TooManyKeys { most: MOST_MEMBERS });
    }
    let mut parts = BlockMembers::default();
    for (index, member) in members.iter().enumerate() {
        let key = unescape(&body[member.key.clone()]);
        if members[..index].iter().any(|earlier| unescape(&body[earlier.key.clone()]) == key) {
            return Err(BlockFault::DuplicateKey { key: key.into_owned() });
        }
        match &*key {
            "name" => parts.name = Some(member.clone()),
            "arguments" => parts.arguments = Some(member.clone()),
            ignored if IGNORED.contains(&ignored) => {}
            _ if parts.unexpected.is_none() => parts.unexpected = Some(key.into_owned()),
            _ => {}
        }
    }
    Ok(parts)
}
