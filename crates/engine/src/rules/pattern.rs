//! One glob over vault paths, matched so that no other spelling of a name slips past a rule.
//!
//! A pattern is compared twice: folded with the folded path, and as written with the path as written. The
//! first knows that `Größe` and `GRÖSSE` are one folder; the second keeps the meaning of `?`, which counts
//! the characters that a person sees. What is absent on purpose: a look at the disk. A rule must say the
//! same before a file exists and after it is gone.

use envelope::VaultPath;
use globset::{GlobBuilder, GlobMatcher};

/// What there may be below a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Below {
    /// It is a file.
    Nothing,
    /// It is a folder.
    Anything,
    /// Nobody knows: a name with an ending is taken for a file.
    AsItLooks,
}

pub(super) struct PathPattern {
    /// For rules that ask or deny: as wide as anyone could mean it.
    folded: Spelling,
    written: Spelling,
    /// For rules that allow: as narrow as it is written.
    allowed: Vec<(Form, GlobMatcher)>,
}

#[derive(Clone, Copy)]
enum Form {
    Folded,
    Written,
}

impl PathPattern {
    pub(super) fn compile(pattern: &str) -> Result<PathPattern, String> {
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
        let (wide, folded) = (by_character(pattern)?, VaultPath::fold_name(pattern));
        let mut allowed = vec![(Form::Written, glob(pattern).map_err(bad)?)];
        // Folding would widen a class such as `[!A-z]`.
        if !pattern.contains('[') {
            allowed.push((Form::Folded, glob(&folded).map_err(bad)?));
        }
        Ok(PathPattern {
            folded: Spelling::compile(&by_character(&folded)?).map_err(bad)?,
            written: Spelling::compile(&wide).map_err(bad)?,
            allowed,
        })
    }

    /// Whether the pattern matches the path itself.
    pub(super) fn covers(&self, path: &VaultPath) -> bool {
        self.allowed.iter().any(|(form, glob)| match form {
            Form::Folded => glob.is_match(path.folded()),
            Form::Written => glob.is_match(path.as_str()),
        })
    }

    /// Whether the pattern matches the path or may match something below it.
    pub(super) fn touches(&self, path: &VaultPath, below: Below) -> bool {
        let folded = path.folded();
        self.folded.whole.is_match(&folded)
            || self.written.whole.is_match(path.as_str())
            || below != Below::Nothing
                && (self.folded.reaches_below(&folded, below)
                    || self.written.reaches_below(path.as_str(), below))
    }
}

/// A pattern in one spelling: whole, and cut where the folders are.
struct Spelling {
    whole: GlobMatcher,
    parts: Vec<Part>,
}

enum Part {
    /// `**`: any number of folders.
    Folders,
    Name {
        glob: GlobMatcher,
        literal: bool,
    },
}

impl Spelling {
    fn compile(pattern: &str) -> Result<Spelling, globset::Error> {
        let whole = glob(pattern)?;
        let mut parts = Vec::new();
        for name in pattern.split('/') {
            if name == "**" {
                parts.push(Part::Folders);
            } else if let Ok(glob) = glob(name) {
                parts.push(Part::Name { glob, literal: !name.contains(['*', '?', '[', '{', '\\']) });
            } else {
                // The cut went through braces: what follows may be anything.
                parts.push(Part::Folders);
                parts.push(Part::Name { glob: self::glob("*")?, literal: false });
                break;
            }
        }
        Ok(Spelling { whole, parts })
    }

    /// Whether something below the path may match.
    ///
    /// Certain where the pattern names the path letter by letter: a call on `Private` reaches what
    /// `Private/Keys/**` is about. Where only a wildcard stands for its last name (`**/*.key`), the path
    /// counts as a folder if it is known to be one or its name does not look like a file's; else such a rule
    /// would stop every call.
    fn reaches_below(&self, path: &str, below: Below) -> bool {
        let mut at = self.with_no_folders(vec![0]);
        let mut names = path.split('/').peekable();
        while let Some(name) = names.next() {
            let last = names.peek().is_none();
            let mut next = Vec::new();
            for &place in &at {
                let (after, literal) = match self.parts.get(place) {
                    Some(Part::Folders) => (place, false),
                    Some(Part::Name { glob, literal }) if glob.is_match(name) => (place + 1, *literal),
                    Some(Part::Name { .. }) | None => continue,
                };
                let more = after < self.parts.len();
                if last && more && (literal || below == Below::Anything || !looks_like_a_file(name)) {
                    return true;
                }
                next.push(after);
            }
            at = self.with_no_folders(next);
        }
        false
    }

    /// The places in the pattern where one may stand, given that `**` may also stand for nothing.
    fn with_no_folders(&self, mut places: Vec<usize>) -> Vec<usize> {
        let mut index = 0;
        while let Some(&place) = places.get(index) {
            if matches!(self.parts.get(place), Some(Part::Folders)) {
                places.push(place + 1);
            }
            index += 1;
        }
        places.sort_unstable();
        places.dedup();
        places
    }
}

/// The pattern with each `?` standing for a character. The matcher goes by bytes, and would let `Gr?n`
/// miss `Grün`. Beyond ASCII it may take two short characters for one, which only makes a rule tighter.
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

    use super::{Below, PathPattern};

    fn touches(pattern: &str, path: &str) -> bool {
        PathPattern::compile(pattern).unwrap().touches(&VaultPath::parse(path).unwrap(), Below::AsItLooks)
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
            assert!(PathPattern::compile(pattern).is_err(), "{pattern:?}");
        }
        assert!(PathPattern::compile("Work/My Notes/**").is_ok());
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
        let allowed = PathPattern::compile("[!A-z]*").unwrap();
        assert!(!allowed.covers(&VaultPath::parse("_x").unwrap()));
        assert!(allowed.covers(&VaultPath::parse("7x").unwrap()));
    }

    #[test]
    fn a_pattern_that_can_match_nothing_is_refused() {
        for pattern in ["/Private/**", "Private/", "[z-a]", "{a", "[äö]x"] {
            assert!(PathPattern::compile(pattern).is_err(), "{pattern}");
        }
    }

    proptest! {
        #[test]
        fn every_folder_above_a_matching_path_is_touched(
            path in "[a-c]{1,2}(/[a-c]{1,2}){0,3}",
            pattern in "(\\*\\*|[a-c*]{1,2})(/(\\*\\*|[a-c*?]{1,2})){0,3}",
        ) {
            let compiled = PathPattern::compile(&pattern).unwrap();
            let mut below = VaultPath::parse(&path).unwrap();
            if compiled.covers(&below) {
                while let Some(folder) = below.parent() {
                    prop_assert!(compiled.touches(&folder, Below::AsItLooks), "{pattern} {path} {folder}");
                    below = folder;
                }
            }
        }
    }
}
