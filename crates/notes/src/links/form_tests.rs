//! Tests every form of link: finding it, and rewriting it when its file moves.

use envelope::VaultPath;
use expect_test::{Expect, expect};

use super::{FileKind, FileMoves, LinkKind, LinkResolver, LinkRewriter, NoteLink, StaleLink, scan};

fn path(text: &str) -> VaultPath {
    VaultPath::parse(text).unwrap()
}

fn shown(text: &str, link: &NoteLink) -> String {
    let part = |part: &Option<String>| part.as_ref().map_or(String::new(), |part| format!("{part:?}"));
    format!(
        "{} {:?} {:?} #{} |{} {}\n",
        link.line,
        link.kind,
        link.target,
        part(&link.fragment),
        part(&link.display),
        &text[link.written.path.clone()],
    )
}

#[track_caller]
#[expect(clippy::needless_pass_by_value, reason = "an expectation is given away")]
fn check_scan(kind: FileKind, text: &str, expected: Expect) {
    let links = scan(kind, text);
    expected.assert_eq(&links.iter().map(|link| shown(text, link)).collect::<String>());
}

/// Moves files and shows the result for one of them.
#[track_caller]
#[expect(clippy::needless_pass_by_value, reason = "an expectation is given away")]
fn check_move(files: &[&str], moves: &[(&str, &str)], source: &str, text: &str, expected: Expect) {
    let before = LinkResolver::new(files.iter().chain([&source]).map(|file| path(file)));
    let moves = FileMoves::new(moves.iter().map(|(from, to)| (path(from), path(to))));
    let renaming = LinkRewriter::new(&before, &moves);
    let rewritten = renaming.rewrite(&path(source), text);
    if rewritten.is_some() {
        assert!(renaming.may_affect(&path(source), text), "the quick look missed it");
    }
    let shown = match rewritten {
        None => "unchanged".to_owned(),
        Some(rewritten) => {
            let left: String = rewritten
                .stale_links
                .iter()
                .map(|StaleLink { line, target, file }| format!("\nleft in line {line}: {target} -> {file}"))
                .collect();
            // A raw carriage return would not survive in this file.
            format!("{} changed\n{}{left}", rewritten.links, rewritten.text.replace('\r', "␍"))
        }
    };
    expected.assert_eq(&shown);
}

#[test]
fn wikilinks_and_embeds_are_found() {
    check_scan(
        FileKind::Note,
        "[[A]] [[A|b]] [[A#H#S]] [[A#^id|c]] ![[p.png|640x480]]\r\n\n| [[A\\|b]] | ![[ B c \\|9]] |\n|---|---|\n| [[x/y.md#h\\|z]] | 2 |\n\n> [[Q]]\n\n[[#own]] [[|x]] [[]] [[two\nlines]] [[https://x.y]]",
        expect![[r#"
            1 Wiki "A" # | A
            1 Wiki "A" # |"b" A
            1 Wiki "A" #"H#S" | A
            1 Wiki "A" #"^id" |"c" A
            1 Embed "p.png" # |"640x480" p.png
            3 Wiki "A" # |"b" A
            3 Embed "B c" # |"9" B c
            5 Wiki "x/y.md" #"h" |"z" x/y.md
            7 Wiki "Q" # | Q
            9 Wiki "" #"own" | 
        "#]],
    );
}

#[test]
fn markdown_links_are_found() {
    check_scan(
        FileKind::Note,
        "[t](a.md#h \"title\") [](<b c.md#x y>) ![alt](p%20q.png) [*e* `]( c`](d\\_e\\#h.md)\n[n](f(1).md 'x') [z](\n  next.md) [o](#own) [r][ref] [w](https://x.y) [m](mailto:a@b) [o](obsidian://open) [s](//h/x)\n[![i](in.png)](out.md)\n\n> [q\n> r](\n> quoted.md)\n\n[ref]: <def x.md> \"t\"\n[r\\]2]: def2.md#h\n[e]: a&amp;b.md#x\n[^1]: [[Foot]]\n\n[^1]",
        expect![[r#"
            1 Markdown "a.md" #"h" |"t" a.md
            1 Markdown "b c.md" #"x y" |"" b c.md
            1 MarkdownImage "p q.png" # |"alt" p%20q.png
            1 Markdown "d_e" #"h.md" |"*e* `]( c`" d\_e\#h.md
            2 Markdown "f(1).md" # |"n" f(1).md
            2 Markdown "next.md" # |"z" next.md
            3 Markdown "" #"own" |"o" 
            4 Markdown "out.md" # |"![i](in.png)" out.md
            4 MarkdownImage "in.png" # |"i" in.png
            6 Markdown "quoted.md" # |"q\n> r" quoted.md
            10 Definition "def x.md" # | def x.md
            11 Definition "def2.md" #"h" | def2.md
            12 Definition "a&b.md" #"x" | a&amp;b.md#x
            13 Wiki "Foot" # | Foot
        "#]],
    );
}

#[test]
fn a_block_of_math_holds_no_links_whatever_is_between_its_lines() {
    check_scan(
        FileKind::Note,
        "$$\n[[a]]\n\n# [[b]]\n- [[c]]\n$$\n[[yes]] `$$` [[$$yes]]\n\n[[yes$$]]\n\n$$ open [[yes]]\n\n[[too]]\n",
        expect![[r#"
            7 Wiki "yes" # | yes
            7 Wiki "$$yes" # | $$yes
            9 Wiki "yes$$" # | yes$$
            11 Wiki "yes" # | yes
            13 Wiki "too" # | too
        "#]],
    );
}

#[test]
fn code_math_and_html_hold_no_links() {
    check_scan(
        FileKind::Note,
        "`[[a]]` $[[b]]$ \\[[c]]\n\n```\n[[d]]\n```\n\n    [[e]]\n\n<div>\n[[f]]\n</div>\n\n$$\n[[g]]\n$$\n\n<!-- [[h]] -->\n\nx <!-- [[i]] --> [[$yes]] and [[yes$]] $x$ [[yes]] %%[[yes too]]%%",
        expect![[r#"
            19 Wiki "$yes" # | $yes
            19 Wiki "yes$" # | yes$
            19 Wiki "yes" # | yes
            19 Wiki "yes too" # | yes too
        "#]],
    );
}

#[test]
fn properties_are_found_and_a_rule_is_no_frontmatter() {
    check_scan(
        FileKind::Note,
        "\u{feff}---\r\nup: \"[[A|b]]\"\r\nlist:\r\n  - '[[It''s]]'\r\n  - \"[t](c%20d.md)\"\r\n  - \"caf\\u00e9 [[caf\\u00e9]]\"\r\nbare: [[B]]\r\nflow: [\"[[C]]\", '[[D]]']\r\n# \"[[no]]\"\r\n---\r\n[[E]]\r\n\r\n---\r\nnot: \"`[[no]]`\"\r\n---\r\n",
        expect![[r#"
            2 Property "A" # |"b" A
            4 Property "It's" # | It''s
            5 Property "c d.md" # |"t" c%20d.md
            6 Property "café" # | caf\u00e9
            7 Property "B" # | B
            8 Property "C" # | C
            8 Property "D" # | D
            11 Wiki "E" # | E
        "#]],
    );
}

#[test]
fn a_canvas_has_files_and_texts() {
    check_scan(
        FileKind::Canvas,
        r##"{"nodes":[{"id":"1","type":"file","file":"a\/b.md","subpath":"#h","x":0},
 {"type":"text","text":"see [[A]]\n\n- [t](b.md)","nodes":[{"file":"no.md"}]},
 {"type":"group","background":"p.png","label":"[[no]]"}],"edges":[{"file":"no.md"}],"file":"no.md"}"##,
        expect![[r#"
            1 CanvasFile "a/b.md" #"h" | a\/b.md
            2 CanvasText "A" # | A
            2 CanvasText "b.md" # |"t" b.md
            3 CanvasFile "p.png" # | p.png
        "#]],
    );
    check_scan(FileKind::Canvas, "{\"nodes\":[{\"file\":\"a.md\"}", expect![""]);
    check_scan(FileKind::Other, "[[a]]", expect![""]);
}

#[test]
fn a_canvas_names_its_files_in_full() {
    let index = LinkResolver::new([path("a/b.md")]);
    let mut link = scan(FileKind::Note, "[[b]]").remove(0);
    assert_eq!(index.resolve(&path("c.canvas"), &link), Some(&path("a/b.md")));
    link.kind = LinkKind::CanvasFile;
    assert_eq!(index.resolve(&path("c.canvas"), &link), None);
}

#[test]
fn a_renamed_note_is_followed_in_every_form() {
    check_move(
        &["a/Old.md", "a/p.png"],
        &[("a/Old.md", "a/New name.md")],
        "s.md",
        "---\nup: \"[[Old]]\" # keep\nl: ['[[Old|x]]', [o](a/Old.md)]\nb: [[Old]]\n---\n[[Old]] [[old.md#H|o]] ![[Old#^b]] [[a/Old]] [[/a/Old]] [Old](a/Old.md#h \"t\") [x](<a/Old.md>) [Old.md](./a/Old.md)\n`[[Old]]` [[p.png]] [r]\n\n|a|b|\n|-|-|\n|[[Old\\|x]]|[[Old]]|\n\n[r]: a/Old.md 't'\n",
        expect![[r#"
            14 changed
            ---
            up: "[[New name]]" # keep
            l: ['[[New name|x]]', [o](a/Old.md)]
            b: [[New name]]
            ---
            [[New name]] [[New name.md#H|o]] ![[New name#^b]] [[a/New name]] [[/a/New name]] [New name](a/New%20name.md#h "t") [x](<a/New name.md>) [New name.md](./a/New%20name.md)
            `[[Old]]` [[p.png]] [r]

            |a|b|
            |-|-|
            |[[New name\|x]]|[[New name]]|

            [r]: a/New%20name.md 't'
        "#]],
    );
}

#[test]
fn line_ends_stay_as_they_are() {
    check_move(
        &["A.md"],
        &[("A.md", "B.md")],
        "s.md",
        "---\r\na: '[[A]]'\r\n---\r\n[[A]]\r\n\r\n[A](A.md)\r\n",
        expect![[r#"
        3 changed
        ---␍
        a: '[[B]]'␍
        ---␍
        [[B]]␍
        ␍
        [B](B.md)␍
    "#]],
    );
}

#[test]
fn a_moved_note_keeps_short_links_while_it_is_alone() {
    check_move(
        &["a/N.md"],
        &[("a/N.md", "b/N.md")],
        "s.md",
        "[[N]] [[a/N]] [N](a/N.md) [N](N.md)",
        expect![[r#"
            2 changed
            [[N]] [[b/N]] [N](b/N.md) [N](N.md)"#]],
    );
    // Another file has the same name, so the short name would mean that file.
    check_move(
        &["a/N.md", "b/c/Twin.md"],
        &[("a/N.md", "b/Twin.md")],
        "s.md",
        "[[N]] [[Twin]] [[Twin#h|x]]",
        expect![[r#"
            3 changed
            [[b/Twin]] [[b/c/Twin]] [[b/c/Twin#h|x]]"#]],
    );
}

#[test]
fn a_moved_source_keeps_what_it_points_at() {
    check_move(
        &["a/b.md", "a/sub/c.md", "x/y.md", "p.png", "z/b.md"],
        &[("a/s.md", "x/deep/s.md")],
        "a/s.md",
        "[b](b.md) [c](sub/c.md) [y](../x/y.md) ![p](/p.png) [[b]] [[y]] [[./b]] [[s]] [s](s.md) [[#h]]",
        expect![[r#"
            4 changed
            [b](../../a/b.md) [c](../../a/sub/c.md) [y](../y.md) ![p](/p.png) [[b]] [[y]] [[../../a/b]] [[s]] [s](s.md) [[#h]]"#]],
    );
}

#[test]
fn names_that_need_escapes_get_them() {
    check_move(
        &["Old.md"],
        &[("Old.md", "It's (1 & $1 50%25.md")],
        "s.md",
        "---\na: '[[Old]]'\nb: \"[[Old]]\"\nc: [[Old]]\n---\n[[Old]] [x](Old.md) [x](<Old.md>) [Old](Old.md)",
        expect![[r#"
            7 changed
            ---
            a: '[[It''s (1 & $1 50%25]]'
            b: "[[It's (1 & $1 50%25]]"
            c: [[It's (1 & $1 50%25]]
            ---
            [[It's (1 & $1 50%25]] [x](It's%20%281%20&%20$1%2050%2525.md) [x](<It's (1 & $1 50%2525.md>) [It's (1 & $1 50%25](It's%20%281%20&%20$1%2050%2525.md)"#]],
    );
    check_move(
        &["Old.md"],
        &[("Old.md", "@me.md")],
        "s.md",
        "---\nc: [[Old|x]]\n---\n",
        expect![[r#"
        1 changed
        ---
        c: "[[@me|x]]"
        ---
    "#]],
    );
    check_move(
        &["%C3%A9 a.md", "é a.md"],
        &[("é a.md", "ü b.md")],
        "s.md",
        "[x](%C3%A9%20a.md) [x](<é a.md>) [x](é%20a.md)",
        expect![[r#"
            3 changed
            [x](%C3%BC%20b.md) [x](<ü b.md>) [x](ü%20b.md)"#]],
    );
}

#[test]
fn a_name_that_no_wikilink_can_hold_makes_a_markdown_link() {
    check_move(
        &["Old.md", "o.png"],
        &[("Old.md", "C# [1].md"), ("o.png", "o^1.png")],
        "s.md",
        "---\na: '[[Old#it''s a|x]]'\nb: [[Old]]\n---\n[[Old]] [[Old#H h|alias]] ![[o.png|640x480]] ![[Old]]\n\n|a|\n|-|\n|[[Old\\|x]]|\n",
        expect![[r#"
            6 changed
            ---
            a: '[x](C%23%20[1].md#it''s%20a)'
            b: [[Old]]
            ---
            [C# \[1\]](C%23%20[1].md) [alias](C%23%20[1].md#H%20h) ![640x480](o^1.png) ![C# \[1\]](C%23%20[1].md)

            |a|
            |-|
            |[x](C%23%20[1].md)|

            left in line 3: Old -> C# [1].md"#]],
    );
}

#[test]
fn a_canvas_keeps_every_other_byte() {
    check_move(
        &["a/Old.md"],
        &[("a/Old.md", "b/Nëw 'quoted'.md")],
        "c.canvas",
        "{ \"nodes\" : [\n  {\"x\":1.50,\"file\":\"a\\/Old.md\",\"subpath\":\"#h\"},{\"type\":\"text\",\"text\":\"\\u00e9 [[Old]]\\n[Old](a\\/Old.md)\"} ] , \"zz\":null}",
        expect![[r##"
            3 changed
            { "nodes" : [
              {"x":1.50,"file":"b/Nëw 'quoted'.md","subpath":"#h"},{"type":"text","text":"\u00e9 [[Nëw 'quoted']]\n[Nëw 'quoted'](b/Nëw%20'quoted'.md)"} ] , "zz":null}"##]],
    );
}

#[test]
fn a_change_of_case_is_written_and_an_unrelated_move_is_not() {
    check_move(
        &["Example.md"],
        &[("Example.md", "example.md")],
        "s.md",
        "[[Example]] [[EXAMPLE|x]]",
        expect![[r#"
        2 changed
        [[example]] [[example|x]]"#]],
    );
    check_move(
        &["A.md", "B.md"],
        &[("A.md", "x/C.md")],
        "s.md",
        "[[B]] [[missing]] [b](B.md)",
        expect!["unchanged"],
    );
    check_move(
        &["A.md", "B.md"],
        &[("A.md", "B.md")],
        "s.md",
        "[[A]] [[B]]",
        expect![[r#"
        1 changed
        [[B]] [[B]]"#]],
    );
}
