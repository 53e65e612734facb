//! Links between notes, and what a rename did to them.
//!
//! Neither is ever kept as an artifact: links can be asked for again, and what a rename changed is in the record.

pub mod renamed;

use envelope::{Family, Fault};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::plain::{Receipt, cost, fitting, is_zero, one_line, projected, room};
use super::{Projected, Projection, external};

/// What a tool found, without bound.
pub struct Links<O, B, U> {
    /// The note; absent for the whole vault.
    pub path: Option<String>,
    /// Links from the note to others, in the order of the text.
    pub outgoing: O,
    /// Links from others to the note, ordered by their path.
    pub backlinks: B,
    /// Links that lead to no file.
    pub unresolved: U,
    /// How many of each kind were passed over before these.
    pub offset: u64,
    /// Whether there are more than these.
    pub more: bool,
}

/// One link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link<Text> {
    /// The file that holds the link.
    pub from_path: Text,
    /// The file that it leads to, if there is one.
    #[serde(default = "Option::default", skip_serializing_if = "Option::is_none")]
    pub to_path: Option<Text>,
    /// What is linked, as written.
    pub target: Text,
    /// Heading or block in the target.
    #[serde(default = "Option::default", skip_serializing_if = "Option::is_none")]
    pub fragment: Option<Text>,
    /// Counted from 1.
    pub line: u64,
    /// How the link is written, such as `wikilink`.
    pub form: Text,
}

/// The form that most links have, and that is not worth a word.
const USUAL: &str = "wikilink";

/// What stands in the canonical result.
#[derive(Debug, Serialize, Deserialize)]
struct Found<Text> {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    outgoing: Vec<Link<Text>>,
    backlinks: Vec<Link<Text>>,
    unresolved: Vec<Link<Text>>,
    /// How many links of each kind do not stand here.
    #[serde(default, skip_serializing_if = "is_zero")]
    outgoing_left_out: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    backlinks_left_out: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    unresolved_left_out: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    offset: u64,
    /// Whether the call would have found more if it had been allowed to.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    more: bool,
    truncated: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Outgoing,
    Backlinks,
    Unresolved,
}

/// Bounds the links of a note or of a vault. Each kind has its share of the budget, and what it does not need is
/// for the others.
pub fn project<'a, O, B, U>(complete: Links<O, B, U>, with: &mut Projection<'_>) -> Result<Projected, Fault>
where
    O: ExactSizeIterator<Item = Link<&'a str>>,
    B: ExactSizeIterator<Item = Link<&'a str>>,
    U: ExactSizeIterator<Item = Link<&'a str>>,
{
    let Links { path, outgoing, backlinks, unresolved, offset, more } = complete;
    let counts = [outgoing.len(), backlinks.len(), unresolved.len()];
    let mut shares = Shares::new(room(with.budget()), counts);
    let outgoing = shares.take(Kind::Outgoing, outgoing);
    let backlinks = shares.take(Kind::Backlinks, backlinks);
    let unresolved = shares.take(Kind::Unresolved, unresolved);
    let left_out = |index: usize, kept: &[Link<&str>]| (counts[index] - kept.len()) as u64;
    let lost = [left_out(0, &outgoing), left_out(1, &backlinks), left_out(2, &unresolved)];
    let found = Found {
        path,
        outgoing,
        backlinks,
        unresolved,
        outgoing_left_out: lost[0],
        backlinks_left_out: lost[1],
        unresolved_left_out: lost[2],
        offset,
        more,
        truncated: more || lost.iter().any(|lost| *lost > 0),
    };
    projected(Family::Links, &found)
}

pub(super) fn render(summary: &str, result: &Value, budget: usize) -> String {
    if let Ok(renamed) = renamed::Shown::<String>::deserialize(result) {
        return renamed::render(summary, &renamed, budget);
    }
    let Ok(found) = Found::<String>::deserialize(result) else {
        return external::render(summary, result, budget);
    };
    let kinds = [
        (Kind::Outgoing, &found.outgoing, found.outgoing_left_out),
        (Kind::Backlinks, &found.backlinks, found.backlinks_left_out),
        (Kind::Unresolved, &found.unresolved, found.unresolved_left_out),
    ];
    // As many of each kind as of the others: a kind that has fewer leaves its room to them.
    let most = kinds.iter().map(|(_, links, _)| links.len()).max().unwrap_or_default();
    Receipt::new(summary).with_most(1..=most, budget, |most, receipt| {
        let mut cut = Vec::new();
        for (kind, links, left_out) in kinds {
            let shown: Vec<Link<&str>> = links.iter().take(most).map(borrowed).collect();
            section(kind, found.path.as_deref(), &shown, receipt);
            let left_out = left_out + (links.len() - shown.len()) as u64;
            if left_out > 0 || found.more {
                cut.push((kind, shown.len() as u64, left_out));
            }
        }
        go_on(&found, &cut, receipt);
    })
}

/// What was cut, and the call that gets it.
fn go_on(found: &Found<String>, cut: &[(Kind, u64, u64)], receipt: &mut Receipt) {
    for (kind, shown, left_out) in cut.iter().filter(|(_, _, left_out)| *left_out > 0) {
        let next = found.offset.saturating_add(*shown);
        let (words, name) = (kind.words(), kind.name());
        receipt
            .line(&format!("… {left_out} more {words}: call again with kinds [\"{name}\"], offset {next}"));
    }
    if found.more && cut.iter().all(|(_, _, left_out)| *left_out == 0) {
        let next = cut.iter().map(|(_, shown, _)| *shown).max().unwrap_or_default();
        let next = found.offset.saturating_add(next);
        receipt.line(&format!("… more: call again with offset {next}"));
    }
}

impl Kind {
    /// As the arguments call it.
    fn name(self) -> &'static str {
        match self {
            Kind::Outgoing => "outgoing",
            Kind::Backlinks => "backlinks",
            Kind::Unresolved => "unresolved",
        }
    }

    fn words(self) -> &'static str {
        match self {
            Kind::Outgoing => "links out",
            Kind::Backlinks => "links in",
            Kind::Unresolved => "that lead nowhere",
        }
    }
}

/// Tokens that three kinds of links share.
struct Shares {
    room: usize,
    /// How many kinds are still to come that have links.
    waiting: usize,
}

impl Shares {
    fn new(room: usize, counts: [usize; 3]) -> Shares {
        Shares { room, waiting: counts.iter().filter(|count| **count > 0).count() }
    }

    fn take<'a>(
        &mut self,
        kind: Kind,
        links: impl ExactSizeIterator<Item = Link<&'a str>>,
    ) -> Vec<Link<&'a str>> {
        if links.len() == 0 {
            return Vec::new();
        }
        let share = self.room / self.waiting.max(1);
        let (mut spent, mut last) = (0, None);
        let kept = fitting(links, share, |link| {
            let heading = match (kind, last.replace(link.from_path)) {
                (Kind::Outgoing, _) => 0,
                (Kind::Backlinks | Kind::Unresolved, before) if before == Some(link.from_path) => 0,
                (Kind::Backlinks | Kind::Unresolved, _) => cost(&one_line(link.from_path)),
            };
            let cost = heading + cost(&shown(kind, link));
            spent += cost;
            cost
        });
        self.room = self.room.saturating_sub(spent.min(share));
        self.waiting = self.waiting.saturating_sub(1);
        kept
    }
}

/// The links of one kind: those of the note itself by line, all others below the paths of their notes. No path has a
/// colon in it, so that nothing but a link begins with a number and a colon.
fn section(kind: Kind, own: Option<&str>, links: &[Link<&str>], receipt: &mut Receipt) {
    if links.is_empty() {
        return;
    }
    if own.is_some() {
        receipt.line(match kind {
            Kind::Outgoing => "out:",
            Kind::Backlinks => "in:",
            Kind::Unresolved => "nowhere:",
        });
    }
    for note in links.chunk_by(|a, b| a.from_path == b.from_path) {
        let from = note.iter().take(1).map(|link| link.from_path).find(|from| Some(*from) != own);
        if let Some(from) = from {
            receipt.line(&one_line(from));
        }
        note.iter().for_each(|link| receipt.line(&shown(kind, link)));
    }
}

/// A link on one line: where it stands and where it leads. How it is written is told when that says more.
fn shown(kind: Kind, link: &Link<&str>) -> String {
    let fragment = link.fragment.map(|fragment| format!("#{fragment}")).unwrap_or_default();
    let written = format!("{}{fragment}", link.target);
    let leads = match (kind, link.to_path) {
        // Everyone knows where links to the note lead.
        (Kind::Backlinks | Kind::Unresolved, _) | (Kind::Outgoing, None) => written,
        (Kind::Outgoing, Some(to)) => format!("{to}{fragment}"),
    };
    let form = if link.form == USUAL { String::new() } else { format!(" ({})", one_line(link.form)) };
    format!("{}: {}{form}", link.line, one_line(&leads))
}

fn borrowed(link: &Link<String>) -> Link<&str> {
    Link {
        from_path: &link.from_path,
        to_path: link.to_path.as_deref(),
        target: &link.target,
        fragment: link.fragment.as_deref(),
        line: link.line,
        form: &link.form,
    }
}

#[cfg(test)]
mod tests;
