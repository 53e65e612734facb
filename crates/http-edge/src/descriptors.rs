//! The limit of connections that the file descriptors of the process leave room for.

use rustix::process::{Resource, getrlimit};

/// Reserved for files, pipes and listeners.
const RESERVED: u64 = 256;

/// Descriptors of one connection: its socket, and the connection to the model's server while an answer is streamed.
const PER_CONNECTION: u64 = 2;

/// Returns the requested limit, or a lower one that fits.
pub(super) fn connections_that_fit(asked: usize) -> usize {
    let Some(descriptors) = getrlimit(Resource::Nofile).current else { return asked };
    let fit = fitting(asked, descriptors);
    if fit < asked {
        tracing::warn!(
            asked,
            fit,
            descriptors,
            "fewer connections than the settings allow: the limit of open files (`ulimit -n`) is too low"
        );
    }
    fit
}

fn fitting(asked: usize, descriptors: u64) -> usize {
    // Half of a limit that is hardly above the reserve.
    let room = descriptors.saturating_sub(RESERVED).max(descriptors / 2).max(1);
    asked.min(usize::try_from((room / PER_CONNECTION).max(1)).unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use super::fitting;

    #[test]
    fn connections_leave_descriptors_for_everything_else() {
        let fit = [40_000, 24_256, 1_024, 256, 10, 0].map(|descriptors| fitting(12_000, descriptors));
        assert_eq!(fit, [12_000, 12_000, 384, 64, 2, 1]);
    }
}
