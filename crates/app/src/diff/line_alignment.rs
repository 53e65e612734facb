//! Alignment of removed lines with added lines.
//!
//! Lines that were replaced together are paired by the words they share, in order, so that a paragraph with one edited
//! word is recognised although a line was added before it.

use std::collections::HashMap;
use std::ops::Range;

use super::words::{weight, words_of};

/// One step of an alignment; the numbers count from the start of each side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AlignStep {
    Removed(usize),
    Added(usize),
    /// Compare word by word.
    Changed(usize, usize),
}

/// Limits: each line of one side is compared with each of the other.
const MAX_PAIRS: usize = 1024;
const MAX_COMPARED_BYTES: usize = 64 << 10;

/// Aligns two blocks of lines. Each line is in exactly one step, in order.
pub(super) fn align(old: &[&str], new: &[&str]) -> Vec<AlignStep> {
    let bytes: usize = old.iter().chain(new).map(|line| line.len()).sum();
    let too_much = old.len().saturating_mul(new.len()) > MAX_PAIRS || bytes > MAX_COMPARED_BYTES;
    let pairs = if too_much || (old.len() == 1 && new.len() == 1) {
        (0..old.len().min(new.len())).map(|at| (at, at)).collect()
    } else {
        best_pairs(&similarities(old, new), old.len(), new.len())
    };
    let mut steps = Vec::with_capacity(old.len() + new.len());
    let (mut i, mut j) = (0, 0);
    for (from, to) in pairs {
        interleave(i..from, j..to, &mut steps);
        steps.push(AlignStep::Changed(from, to));
        (i, j) = (from + 1, to + 1);
    }
    interleave(i..old.len(), j..new.len(), &mut steps);
    steps
}

/// Takes lines from both sides in turn, so that a truncated diff has removed and added lines.
fn interleave(mut old: Range<usize>, mut new: Range<usize>, steps: &mut Vec<AlignStep>) {
    while !(old.is_empty() && new.is_empty()) {
        steps.extend(old.next().map(AlignStep::Removed));
        steps.extend(new.next().map(AlignStep::Added));
    }
}

/// Returns how much each old line shares with each new one; 0 if too little to be the same line.
fn similarities(old: &[&str], new: &[&str]) -> Vec<Vec<usize>> {
    let new: Vec<Vec<&str>> = new.iter().map(|line| words_of(line)).collect();
    let sum = |words: &[&str]| words.iter().map(|word| weight(word)).sum::<usize>();
    let new_weights: Vec<usize> = new.iter().map(|words| sum(words)).collect();
    let weigh = |line: &&str| {
        let words = words_of(line);
        let old_weight = sum(&words);
        let mut times: HashMap<&str, usize> = HashMap::new();
        for word in words {
            *times.entry(word).or_default() += 1;
        }
        let share = |words: &[&str]| -> usize {
            let mut left = times.clone();
            let mut has = |word: &str| match left.get_mut(word) {
                Some(times) if *times > 0 => {
                    *times -= 1;
                    true
                }
                Some(_) | None => false,
            };
            words.iter().filter(|word| has(word)).map(|word| weight(word)).sum()
        };
        new.iter()
            .zip(&new_weights)
            .map(|(words, new_weight)| {
                let share = share(words);
                if share * 2 >= old_weight.min(*new_weight) { share } else { 0 }
            })
            .collect()
    };
    old.iter().map(weigh).collect()
}

/// Returns the pairs, in order, that share most.
fn best_pairs(shared: &[Vec<usize>], old: usize, new: usize) -> Vec<(usize, usize)> {
    // `most[i][j]`: what the lines from `i` and from `j` on can share.
    let mut most = vec![vec![0; new + 1]; old + 1];
    for i in (0..old).rev() {
        for j in (0..new).rev() {
            most[i][j] = most[i + 1][j].max(most[i][j + 1]).max(most[i + 1][j + 1] + shared[i][j]);
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut pairs = Vec::new();
    while i < old && j < new {
        if shared[i][j] > 0 && most[i][j] == most[i + 1][j + 1] + shared[i][j] {
            pairs.push((i, j));
            (i, j) = (i + 1, j + 1);
        } else if most[i][j] == most[i + 1][j] {
            i += 1;
        } else {
            j += 1;
        }
    }
    pairs
}
