//! From a block whose JSON was read to its end to a call, or to what is wrong with it.

use super::arguments;
use super::fault::BlockFault;
use super::json::{Cursor, Kind, MOST_MEMBERS, Member, decoded, mended};
use super::piece::FoundCall;
use super::tool_names::ToolNames;

/// Keys that models add out of habit, and that say nothing.
const IGNORED: [&str; 2] = ["id", "type"];

/// The members that matter.
#[derive(Default)]
struct Parts {
    name: Option<Member>,
    arguments: Option<Member>,
    /// The first key that is none of ours.
    unexpected: Option<String>,
}

/// Why a block is no call, and its name as far as it has one.
pub(super) type Fault = (BlockFault, Option<String>);

/// The call that a block makes. `body` is what stands between the tags.
pub(super) fn call(body: &str, cursor: &mut Cursor, names: &ToolNames) -> Result<FoundCall, Fault> {
    let parts = parts(body, cursor).map_err(|why| (why, name(body, cursor)))?;
    let name = match &parts.name {
        Some(Member { value, kind: Kind::Text, .. }) => decoded(&body[value.clone()]).into_owned(),
        Some(Member { kind: Kind::Object | Kind::Other, .. }) => {
            return Err((BlockFault::NameNotAString, None));
        }
        None => return Err((BlockFault::NameMissing, None)),
    };
    let Some(strict) = names.strict(&name) else {
        return Err((BlockFault::UnknownName { name: name.clone() }, Some(name)));
    };
    match complete(body, cursor, parts, strict) {
        Ok((arguments, repaired, as_object)) => Ok(FoundCall { name, arguments, repaired, as_object }),
        Err(why) => Err((why, Some(name))),
    }
}

/// The arguments of a block that names a tool, whether something was mended, and whether they were an object.
fn complete(
    body: &str,
    cursor: &mut Cursor,
    parts: Parts,
    strict: bool,
) -> Result<(String, bool, bool), BlockFault> {
    if let Some(key) = parts.unexpected
        && (strict || parts.arguments.is_none())
    {
        return Err(BlockFault::UnexpectedKey { key });
    }
    let repairs = cursor.repairs();
    let (arguments, inner_repair, as_object) = match parts.arguments {
        None => (arguments::NONE.to_owned(), None, false),
        Some(Member { value, kind: Kind::Text, .. }) => {
            let (text, what) = arguments::from_text(decoded(&body[value]).into_owned(), cursor)?;
            (text, what, false)
        }
        Some(Member { value, kind: Kind::Object, .. }) => {
            let written = &body[value.clone()];
            let text = match repairs.what() {
                Some(_) => mended(written, repairs.stray_in(&value)),
                None => written.to_owned(),
            };
            (text, None, true)
        }
        Some(Member { kind: Kind::Other, .. }) => return Err(BlockFault::ArgumentsNotAString),
    };
    match repairs.what().or(inner_repair) {
        Some(what) if strict => Err(BlockFault::NeedsRepair { what }),
        what => Ok((arguments, what.is_some(), as_object)),
    }
}

/// The name of a block, as far as it has one, whatever else is wrong with it. `body` may be cut.
pub(super) fn name(body: &str, cursor: &Cursor) -> Option<String> {
    let named = |member: &&Member| body.get(member.key.clone()).is_some_and(|key| decoded(key) == "name");
    let member = cursor.members().complete().iter().find(named)?;
    let written = body.get(member.value.clone()).filter(|_| member.kind == Kind::Text)?;
    Some(decoded(written).into_owned())
}

fn parts(body: &str, cursor: &Cursor) -> Result<Parts, BlockFault> {
    let members = cursor.members().complete();
    if cursor.members().has_more() {
        return Err(BlockFault::TooManyKeys { most: MOST_MEMBERS });
    }
    let mut parts = Parts::default();
    for (index, member) in members.iter().enumerate() {
        let key = decoded(&body[member.key.clone()]);
        if members[..index].iter().any(|earlier| decoded(&body[earlier.key.clone()]) == key) {
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
