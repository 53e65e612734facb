//! What models write, and what it is taken for. Every case is read in all ways by `splits`.

mod broken;
mod calls;
mod cut_off;
mod members;
mod mended;
mod plain;
mod quoted;

use expect_test::Expect;

pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) text: &'static str,
    pub(crate) expect: Expect,
}

fn case(name: &'static str, text: &'static str, expect: Expect) -> Case {
    Case { name, text, expect }
}

pub(crate) fn all() -> Vec<Case> {
    [
        plain::cases(),
        calls::cases(),
        broken::cases(),
        members::cases(),
        mended::cases(),
        cut_off::cases(),
        quoted::cases(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
