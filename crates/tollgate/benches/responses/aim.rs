//! The aim of a figure, and whether it is met.

pub(crate) use BenchAim::{AtLeast, AtMost};

#[derive(Clone, Copy)]
pub(crate) enum BenchAim {
    AtMost(f64),
    AtLeast(f64),
}

impl BenchAim {
    pub(crate) fn judge(self, name: &str, is: f64) {
        let (met, word, aim) = match self {
            AtMost(aim) => (is <= aim, "at most", aim),
            AtLeast(aim) => (is >= aim, "at least", aim),
        };
        let met = if met { "met" } else { "MISSED" };
        println!("  aim: {name:<46} {is:>8.3}   {word} {aim:<6.3} {met}");
    }
}
