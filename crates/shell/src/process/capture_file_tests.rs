//! A stream that is cut into chunks in any way is captured as the same stream, and the disk may fail at any byte.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex};

use envelope::{Artifact, Fault, Hash};
use proptest::prelude::{ProptestConfig, any, prop_assert_eq, proptest};
use rustix::pipe::{PipeFlags, pipe_with};
use tempfile::TempDir;
use tokio::sync::watch;
use toolkit::{ArtifactSink, OpenArtifact};

use super::capture_file::{CaptureError, CaptureFile, CapturedStream, HEAD_BYTES};
use super::event::wait;
use super::tail::{StreamPosition, StreamTail};

struct TempArtifacts {
    dir: TempDir,
}

impl ArtifactSink for TempArtifacts {
    fn create(&self, role: &str, extension: &str) -> Result<Option<OpenArtifact>, Fault> {
        let path = format!("{role}.{extension}");
        let file = File::create_new(self.dir.path().join(&path)).unwrap();
        Ok(Some(OpenArtifact { path, file }))
    }

    fn seal(&self, artifact: OpenArtifact, bytes: u64, hash: Hash) -> Result<Artifact, Fault> {
        Ok(Artifact { path: artifact.path, bytes, hash })
    }

    fn discard(&self, _artifact: &Artifact) {}

    fn open(&self, path: &str) -> Result<File, Fault> {
        Ok(File::open(self.dir.path().join(path)).unwrap())
    }
}

/// Returns a stream that does not repeat within a chunk, with lines of many lengths.
fn bytes(count: usize) -> Vec<u8> {
    (0..count).map(|place| if place * place % 97 < 3 { b'\n' } else { b'a' + (place % 23) as u8 }).collect()
}

fn lines(bytes: &[u8]) -> u64 {
    String::from_utf8_lossy(bytes).lines().count() as u64
}

/// Returns a capture file, and the position that readers can see.
fn capture(limit: u64, tail: &Arc<StreamTail>) -> (CaptureFile, watch::Receiver<StreamPosition>) {
    let (on_progress, seen_position) = watch::channel(StreamPosition::default());
    let on_progress = Box::new(move |now| on_progress.send_modify(|seen_position| *seen_position = now));
    (CaptureFile::new("stdout", limit, Arc::clone(tail), on_progress).unwrap(), seen_position)
}

/// Fills the next chunk with at most `most` of the first bytes. Returns how many that were.
fn push(capture: &mut CaptureFile, bytes: &[u8], most: usize) -> (usize, Result<(), CaptureError>) {
    let mut chunk = match capture.chunk() {
        Ok(chunk) => chunk,
        Err(error) => return (0, Err(error)),
    };
    let count = bytes.len().min(most).min(chunk.spare().len());
    chunk.spare()[..count].copy_from_slice(&bytes[..count]);
    chunk.add(count);
    (count, capture.push(chunk))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    // Conformance: result 4.2
    #[test]
    fn any_cut_gives_the_same_stream(
        count in 0_usize..(4 * HEAD_BYTES),
        cuts in proptest::collection::vec(1_usize..(2 * HEAD_BYTES), 1..20),
        limit in 0_usize..(4 * HEAD_BYTES),
        window in 1_usize..3000,
        limited in any::<bool>(),
    ) {
        let all = bytes(count);
        let limit = if limited { limit } else { usize::MAX };
        let artifacts = Arc::new(TempArtifacts { dir: tempfile::tempdir().unwrap() });
        let tail = Arc::new(StreamTail::new(artifacts.clone()));
        let (mut capture, seen_position) = capture(limit as u64, &tail);
        let (mut rest, mut since, mut seen, mut over) = (&all[..], StreamPosition::default(), Vec::new(), false);
        for cut in cuts.iter().cycle() {
            if rest.is_empty() || over {
                break;
            }
            let (count, pushed) = push(&mut capture, rest, *cut);
            over = pushed == Err(CaptureError::OverLimit);
            let now = *seen_position.borrow();
            let fresh = tail.read_delta(&mut since, now, false, usize::MAX).unwrap();
            seen.extend_from_slice(&fresh.head);
            rest = &rest[count..];
        }
        let kept = &all[..count.min(limit)];
        prop_assert_eq!(over, count > limit);
        let stream = capture.finish().unwrap();
        let now = *seen_position.borrow();
        seen.extend(tail.read_delta(&mut since, now, true, usize::MAX).unwrap().head);
        prop_assert_eq!(&seen, kept);
        let hash = Hash::of(kept);
        let (text, artifact) = if kept.len() <= HEAD_BYTES {
            (Some(kept.to_vec()), None)
        } else {
            let artifact = Artifact { path: "stdout.log".to_owned(), bytes: kept.len() as u64, hash };
            prop_assert_eq!(&fs::read(artifacts.dir.path().join("stdout.log")).unwrap(), kept);
            (None, Some(artifact))
        };
        let bytes = kept.len() as u64;
        prop_assert_eq!(stream, CapturedStream { bytes, lines: lines(kept), hash, text, artifact });

        let look = tail.read_delta(&mut StreamPosition::default(), now, true, window).unwrap();
        prop_assert_eq!(&look.head, &kept[..look.head.len()]);
        let least = kept.len().min(window).saturating_sub(3);
        prop_assert_eq!((least..=window).contains(&look.head.len()), true);
    }
}

/// Its one artifact is a pipe that is not read: it takes some bytes and then fails, like a full disk.
struct FullPipe {
    filled: usize,
    rest: Mutex<Option<File>>,
}

impl ArtifactSink for FullPipe {
    fn create(&self, role: &str, extension: &str) -> Result<Option<OpenArtifact>, Fault> {
        let (read, write) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK).unwrap();
        let mut file = File::from(write);
        file.write_all(&vec![0; self.filled]).unwrap();
        *self.rest.lock().unwrap() = Some(read.into());
        Ok(Some(OpenArtifact { path: format!("{role}.{extension}"), file }))
    }

    fn seal(&self, _artifact: OpenArtifact, _bytes: u64, _hash: Hash) -> Result<Artifact, Fault> {
        unreachable!("it never takes everything")
    }

    fn discard(&self, _artifact: &Artifact) {}

    fn open(&self, _path: &str) -> Result<File, Fault> {
        unreachable!("it is never opened")
    }
}

#[test]
fn wherever_the_disk_fails_the_fault_says_how_much_was_kept() {
    const SIZE: usize = 64 << 10;
    let all = bytes(SIZE + 1);
    let mut places = BTreeSet::new();
    for filled in (0..SIZE).step_by(499) {
        let pipe = Arc::new(FullPipe { filled, rest: Mutex::default() });
        let (mut capture, _told) = capture(u64::MAX, &Arc::new(StreamTail::new(pipe.clone())));
        let mut rest = &all[..];
        let error = loop {
            match push(&mut capture, rest, HEAD_BYTES / 2 + 1) {
                (0, Ok(())) => {
                    wait([capture.broken_flag().as_fd()]).unwrap();
                    break capture.take_error();
                }
                (count, Ok(())) => rest = &rest[count..],
                (_, Err(error)) => break error,
            }
        };
        let CaptureError::Lost(fault) = error else { panic!("{filled}: {error:?}") };
        let mut kept = Vec::new();
        pipe.rest.lock().unwrap().take().unwrap().read_to_end(&mut kept).unwrap();
        kept.drain(..filled);
        assert!(all.starts_with(&kept));
        assert_eq!(fault.details.unwrap()["keptBytes"], kept.len(), "{}", fault.message);
        places.insert(kept.len());
        assert!(capture.finish().is_err());
    }
    // In the beginning that was in memory, and after it.
    assert!(places.first() < Some(&HEAD_BYTES) && places.last() > Some(&HEAD_BYTES), "{places:?}");
}
