//! Taking turns: each contender once a round, so that whatever else the machine does hits all alike.

use std::time::Instant;

const ROUNDS: usize = 9;

/// One contender: its name and one turn of its work.
pub(crate) struct Contender<'a> {
    pub(crate) name: String,
    pub(crate) turn: Box<dyn FnMut() + 'a>,
}

impl<'a> Contender<'a> {
    pub(crate) fn new(name: impl Into<String>, turn: impl FnMut() + 'a) -> Contender<'a> {
        Contender { name: name.into(), turn: Box::new(turn) }
    }
}

/// Milliseconds of every turn.
struct Times(Vec<f64>);

impl Times {
    fn best(&self) -> f64 {
        self.0.iter().copied().fold(f64::MAX, f64::min)
    }

    fn median(&self) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        sorted[sorted.len() / 2]
    }
}

/// Prints the best and the median of each, as times and as ratios to the first.
pub(crate) fn compare(what: &str, mut contenders: Vec<Contender<'_>>) {
    // Once for the caches, unmeasured.
    for contender in &mut contenders {
        (contender.turn)();
    }
    let mut times: Vec<Times> = contenders.iter().map(|_| Times(Vec::new())).collect();
    for _ in 0..ROUNDS {
        for (contender, times) in contenders.iter_mut().zip(&mut times) {
            let began = Instant::now();
            (contender.turn)();
            times.0.push(began.elapsed().as_nanos() as f64 / 1e6);
        }
    }
    println!("{what} ({ROUNDS} rounds in turn; best and median, ms)");
    for (contender, own) in contenders.iter().zip(&times) {
        println!(
            "  {:<44} {:>8.1} {:>8.1}   = {:.2}x {:.2}x",
            contender.name,
            own.best(),
            own.median(),
            own.best() / times[0].best(),
            own.median() / times[0].median()
        );
    }
}

/// The most memory this process has had, in bytes.
pub(crate) fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}
