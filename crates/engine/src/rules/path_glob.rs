//! Globs over vault paths, matched so that no other spelling of a name gets past a rule.
//!
//! A pattern is compared twice: folded with the folded path, and as written with the path as written. The first
//! comparison knows that `Größe` and `GRÖSSE` are one folder; the second keeps the meaning of `?`, which counts visible
//! characters. A path with escapes is matched as the name that it stands for. Deliberately omitted: disk access. A rule must give the same answer before a file exists and after it is
//! deleted.

use envelope::VaultPath;
use globset::{GlobBuilder, GlobMatcher};

/// Whether there can be paths below a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathExtent {
    /// It is a file.
    Nothing,
    /// It is a folder.
    Anything,
    /// Unknown: a name with an extension is taken for a file.
    AsItLooks,
}

pub(super) struct PathGlob {
    /// For rules that ask or deny: matched as widely as the author could mean it.
    folded: GlobSpelling,
    written: GlobSpelling,
    /// For rules that allow: matched as narrowly as it is written.
    allowed: Vec<(SpellingForm, GlobMatcher)>,
}

#[derive(Clone, Copy)]
enum SpellingForm {
    Folded,
    Written,
}

impl PathGlob {
    pub(super) fn compile(pattern: &str) -> Result<PathGlob, String> {
        if pattern.starts_with('/') || pattern.ends_with('/') {
            let folder = pattern.trim_matches('/').trim_end_matches("/**");
            return Err(format!("`{pattern}` can match no path; for all in that folder write `{folder}/**`"));
        }
        let impossible =
            |part: &str| matches!(part, "" | "." | "..") || part.trim() != part || part.contains('\\');
        if pattern.split('/').any(impossible) {
            return Err(format!(
                "`{pattern}` can match no path; write names joined by single `/`, such as `Private/**`"
            ));
        }
        let bad = |error: globset::Error| format!("`{pattern}` is not a glob: {}", error.kind());
        let (wide, folded) = (by_character(pattern)?, VaultPath::fold_text(pattern));
        let mut allowed = vec![(SpellingForm::Written, glob(pattern).map_err(bad)?)];
        // Folding would widen a class such as `[!A-z]`.
        if !pattern.contains('[') {
            allowed.push((SpellingForm::Folded, glob(&folded).map_err(bad)?));
        }
        Ok(PathGlob {
            folded: GlobSpelling::compile(&by_character(&folded)?).map_err(bad)?,
            written: GlobSpelling::compile(&wide).map_err(bad)?,
            allowed,
        })
    }

    /// Whether the pattern matches the path itself.
    pub(super) fn covers(&self, path: &VaultPath) -> bool {
        self.allowed.iter().any(|(form, glob)| match form {
            SpellingForm::Folded => glob.is_match(path.folded()),
            SpellingForm::Written => glob.is_match(&*path.readable()),
        })
    }

    /// Whether the pattern matches the path or could match something below it.
    pub(super) fn touches(&self, path: &VaultPath, below: PathExtent) -> bool {
        let (folded, written) = (path.folded(), path.readable());
        self.folded.whole.is_match(&folded)
            || self.written.whole.is_match(&*written)
            || below != PathExtent::Nothing
                && (self.folded.reaches_below(&folded, below) || self.written.reaches_below(&written, below))
    }
}

/// A pattern in one spelling: whole, and split into path segments.
struct GlobSpelling {
    whole: GlobMatcher,
    parts: Vec<GlobPart>,
}

enum GlobPart {
    /// `**`: any number of folders.
    Folders,
    Name {
        glob: GlobMatcher,
        literal: bool,
    },
}

impl GlobSpelling {
    fn compile(pattern: &str) -> Result<GlobSpelling, globset::Error> {
        let whole = glob(pattern)?;
        let mut parts = Vec::new();
        for name in pattern.split('/') {
            if name == "**" {
                parts.push(GlobPart::Folders);
            } else if let Ok(glob) = glob(name) {
                parts.push(GlobPart::Name { glob, literal: !name.contains(['*', '?', '[', '{', '\\']) });
            } else {
                // The split went through braces: the rest could match anything.
                parts.push(GlobPart::Folders);
                parts.push(GlobPart::Name { glob: self::glob("*")?, literal: false });
                break;
            }
        }
        Ok(GlobSpelling { whole, parts })
    }

    /// Whether something below the path could match.
    ///
    /// Certain if the pattern names the path literally: a call on `Private` reaches the files of `Private/Keys/**`. If
    /// only a wildcard matches its last name (`**/*.key`), the path counts as a folder if it is known to be one or its
    /// name does not look like a file's; otherwise such a rule would match every call.
    fn reaches_below(&self, path: &str, below: PathExtent) -> bool {
        let mut at = self.with_no_folders(vec![0]);
        let mut names = path.split('/').peekable();
        while let Some(name) = names.next() {
            let last = names.peek().is_none();
            let mut next = Vec::new();
            for &place in &at {
                let (after, literal) = match self.parts.get(place) {
                    Some(GlobPart::Folders) => (place, false),
                    Some(GlobPart::Name { glob, literal }) if glob.is_match(name) => (place + 1, *literal),
                    Some(GlobPart::Name { .. }) | None => continue,
                };
                let more = after < self.parts.len();
                if last && more && (literal || below == PathExtent::Anything || !looks_like_a_file(name)) {
                    return true;
                }
                next.push(after);
            }
            at = self.with_no_folders(next);
        }
        false
    }

    /// Returns the positions in the pattern that can be next, since `**` can also match no folder.
    fn with_no_folders(&self, mut places: Vec<usize>) -> Vec<usize> {
        let mut index = 0;
        while let Some(&place) = places.get(index) {
            if matches!(self.parts.get(place), Some(GlobPart::Folders)) {
                places.push(place + 1);
            }
            index += 1;
        }
        places.sort_unstable();
        places.dedup();
        places
    }
}

/// Rewrites each `?` of the pattern to match one character. The matcher works on bytes, and `Gr?n` would not match
/// `Grün`. Beyond ASCII it can take two short characters for one, which only makes a rule tighter.
fn by_character(pattern: &str) -> Result<String, String> {
    const ASCII: &str = "[\u{1}-.0-~]";
    const REST: &str = "[!\u{1}-~]";
    let any = format!("{{{ASCII},{REST}{REST},{REST}{REST}{REST},{REST}{REST}{REST}{REST}}}");
    let mut wide = String::new();
    let mut class = false;
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' if !class => {
                wide.push(c);
                wide.extend(chars.next());
                continue;
            }
            '?' if !class => {
                wide.push_str(&any);
                continue;
            }
            '[' => class = true,
            ']' => class = false,
            _ if class && !c.is_ascii() => {
                return Err(format!("`{pattern}` has `{c}` between brackets; write `{{x,{c}}}` instead"));
            }
            _ => {}
        }
        wide.push(c);
    }
    Ok(wide)
}

fn looks_like_a_file(name: &str) -> bool {
    name.rfind('.').is_some_and(|dot| dot > 0)
}

fn glob(pattern: &str) -> Result<GlobMatcher, globset::Error> {
    let glob = GlobBuilder::new(pattern).case_insensitive(true).literal_separator(true).build()?;
    Ok(glob.compile_matcher())
}

#[cfg(test)]
mod tests {
    use envelope::VaultPath;
    use proptest::prelude::{prop_assert, proptest};

    use super::{PathExtent, PathGlob};

    fn touches(pattern: &str, path: &str) -> bool {
        PathGlob::compile(pattern).unwrap().touches(&VaultPath::parse(path).unwrap(), PathExtent::AsItLooks)
    }

    #[test]
    fn a_pattern_that_can_match_no_path_is_refused() {
        for pattern in [
            "",
            "./Private/**",
            "Work//Private/**",
            "Work/../Private/**",
            " Private/**",
            "Private\\**",
            "/Private/**",
            "Private/",
            "Private/**/",
        ] {
            assert!(PathGlob::compile(pattern).is_err(), "{pattern:?}");
        }
        assert!(PathGlob::compile("Work/My Notes/**").is_ok());
    }

    #[test]
    fn a_call_on_a_folder_touches_what_lies_below_it() {
        for (pattern, path, expected) in [
            ("Private/**", "Private", true),
            ("Private/**", "Private/deep/x.md", true),
            ("Private/**", "Privates", false),
            ("Private/Keys/**", "Private", true),
            ("Private/Keys/**", "private/KEYS", true),
            ("Private/Keys/**", "Private/Notes", false),
            ("v1.0/Keys/**", "v1.0", true),
            ("Private/*.md", "Private", true),
            ("Private/*.md", "Private/Sub", false),
            ("*.md", "Notes", false),
            ("**/*.key", "Notes", true),
            ("**/*.key", "Notes/a.md", false),
            ("**/*.key", "Notes/a.key", true),
            ("Private/**/*.key", "Private/Notes", true),
            ("Private/**/*.key", "Public", false),
            ("*/Keys/**", "Notes", true),
            ("*/Keys/**", "readme.md", false),
            ("*/Keys/**", "Notes/Keys", true),
            ("{Private,Work/Keys}/**", "Work/Keys/x.md", true),
            ("{Private,Work/Keys}/**", "Work", true),
        ] {
            assert_eq!(touches(pattern, path), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn one_name_in_two_spellings_is_one_name() {
        for (pattern, path) in [
            ("Prive\u{301}/**", "Priv\u{e9}/x.md"),
            ("Priv\u{e9}/**", "Prive\u{301}/x.md"),
            ("Größe/**", "GRÖSSE/x.md"),
            ("Größe/Keys/**", "GRÖSSE"),
            ("GRÖSSE/**", "größe/x.md"),
            ("Gr??e/Keys/**", "Größe"),
            ("Gr??e/*", "Größe/x.md"),
            ("Gr{?,??}n/*", "Grün/x.md"),
            ("猫?/*", "猫犬/x.md"),
            ("[A-Z]*/x.md", "notes/x.md"),
            ("a\u{200b}b/*", "ab/x"),
        ] {
            assert!(touches(pattern, path), "{pattern} {path}");
        }
    }

    #[test]
    fn an_escaped_name_is_matched_as_the_name_that_it_stands_for() {
        let touches = |pattern: &str, raw: &[u8]| {
            let name = VaultPath::escape_name(raw).unwrap();
            let path = VaultPath::parse_escaped(&format!("Notes/{name}")).unwrap();
            PathGlob::compile(pattern).unwrap().touches(&path, PathExtent::AsItLooks)
        };
        for (pattern, raw, expected) in [
            ("Notes/a:b.md", &b"a:b.md"[..], true),
            ("Notes/A:B.MD", b"a:b.md", true),
            ("Notes/a?b.md", b"a:b.md", true),
            ("Notes/con*", b"CON.md", true),
            ("Notes/C*", b"CON.md", true),
            ("**/secret*", b"secret.md ", true),
            ("**/*.key", b" a.key", true),
            ("Notes/**", b"\xff.md", true),
            ("Notes/ab.md", "a\u{200e}b.md".as_bytes(), true),
            ("Notes/x3A*", b"a:b.md", false),
            ("Other/**", b"a:b.md", false),
        ] {
            assert_eq!(touches(pattern, raw), expected, "{pattern} {raw:?}");
        }
        let path = VaultPath::parse_escaped(r"Notes/\x43ON.md").unwrap();
        assert!(PathGlob::compile("Notes/CON.md").unwrap().covers(&path));
        assert!(!PathGlob::compile("Notes/x43ON.md").unwrap().covers(&path));
    }

    #[test]
    fn a_question_mark_stands_for_one_character() {
        for (pattern, path, expected) in [
            ("Log?/*", "Log1/x.md", true),
            ("Log?/*", "Logbook/x.md", false),
            ("Log?/*", "Log/x.md", false),
            ("Gr?n", "Grün", true),
            ("Gr?n", "Grüüün", false),
            ("a?b", "a/b", false),
            ("[?]x", "ax", false),
        ] {
            assert_eq!(touches(pattern, path), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn folding_does_not_widen_what_is_allowed() {
        let allowed = PathGlob::compile("[!A-z]*").unwrap();
        assert!(!allowed.covers(&VaultPath::parse("_x").unwrap()));
        assert!(allowed.covers(&VaultPath::parse("7x").unwrap()));
    }

    #[test]
    fn a_pattern_that_can_match_nothing_is_refused() {
        for pattern in ["/Private/**", "Private/", "[z-a]", "{a", "[äö]x"] {
            assert!(PathGlob::compile(pattern).is_err(), "{pattern}");
        }
    }

    proptest! {
        #[test]
        fn every_folder_above_a_matching_path_is_touched(
            path in "[a-c]{1,2}(/[a-c]{1,2}){0,3}",
            pattern in "(\\*\\*|[a-c*]{1,2})(/(\\*\\*|[a-c*?]{1,2})){0,3}",
        ) {
            let compiled = PathGlob::compile(&pattern).unwrap();
            let mut below = VaultPath::parse(&path).unwrap();
            if compiled.covers(&below) {
                while let Some(folder) = below.parent() {
                    prop_assert!(compiled.touches(&folder, PathExtent::AsItLooks), "{pattern} {path} {folder}");
                    below = folder;
                }
            }
        }
    }
}
