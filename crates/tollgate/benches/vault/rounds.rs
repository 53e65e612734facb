//! Runs each contender once per round, so that other load on the machine affects all alike.

use std::time::Instant;

const ROUNDS: usize = 9;

/// One contender: its name and one round of its work.
pub(crate) struct BenchContender<'a> {
    pub(crate) name: String,
    pub(crate) turn: Box<dyn FnMut() + 'a>,
}

impl<'a> BenchContender<'a> {
    pub(crate) fn new(name: impl Into<String>, turn: impl FnMut() + 'a) -> BenchContender<'a> {
        BenchContender { name: name.into(), turn: Box::new(turn) }
    }
}

/// Milliseconds of every round.
struct RoundTimes(Vec<f64>);

impl RoundTimes {
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
pub(crate) fn compare(what: &str, mut contenders: Vec<BenchContender<'_>>) {
    // One unmeasured round fills the caches.
    for contender in &mut contenders {
        (contender.turn)();
    }
    let mut times: Vec<RoundTimes> = contenders.iter().map(|_| RoundTimes(Vec::new())).collect();
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

/// Returns the peak memory of this process in bytes.
pub(crate) fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}
