//! Any way to cut a stream into pieces keeps the same stream, and any byte may be the one that fails.

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

use super::event::wait;
use super::feed::{Feed, Progress};
use super::spool::{HEAD_BYTES, Spool, Stream, Trouble};

struct Shelf {
    dir: TempDir,
}

impl ArtifactSink for Shelf {
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

/// A stream that repeats nothing within a piece, with lines of many lengths.
fn bytes(count: usize) -> Vec<u8> {
    (0..count).map(|place| if place * place % 97 < 3 { b'\n' } else { b'a' + (place % 23) as u8 }).collect()
}

fn lines(bytes: &[u8]) -> u64 {
    String::from_utf8_lossy(bytes).lines().count() as u64
}

/// A spool, and how far the stream is that others can see.
fn spool(limit: u64, feed: &Arc<Feed>) -> (Spool, watch::Receiver<Progress>) {
    let (tell, told) = watch::channel(Progress::default());
    let tell = Box::new(move |now| tell.send_modify(|told| *told = now));
    (Spool::new("stdout", limit, Arc::clone(feed), tell).unwrap(), told)
}

/// Fills the next piece from the front of `bytes`, with `most` of them at most, and says how many that were.
fn push(spool: &mut Spool, bytes: &[u8], most: usize) -> (usize, Result<(), Trouble>) {
    let mut piece = match spool.piece() {
        Ok(piece) => piece,
        Err(trouble) => return (0, Err(trouble)),
    };
    let count = bytes.len().min(most).min(piece.spare().len());
    piece.spare()[..count].copy_from_slice(&bytes[..count]);
    piece.add(count);
    (count, spool.push(piece))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

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
        let shelf = Arc::new(Shelf { dir: tempfile::tempdir().unwrap() });
        let feed = Arc::new(Feed::new(shelf.clone()));
        let (mut spool, told) = spool(limit as u64, &feed);
        let (mut rest, mut since, mut seen, mut over) = (&all[..], Progress::default(), Vec::new(), false);
        for cut in cuts.iter().cycle() {
            if rest.is_empty() || over {
                break;
            }
            let (count, pushed) = push(&mut spool, rest, *cut);
            over = pushed == Err(Trouble::OverLimit);
            let now = *told.borrow();
            let fresh = feed.fresh(&mut since, now, false, usize::MAX).unwrap();
            seen.extend_from_slice(&fresh.head);
            rest = &rest[count..];
        }
        let kept = &all[..count.min(limit)];
        prop_assert_eq!(over, count > limit);
        let stream = spool.finish().unwrap();
        let now = *told.borrow();
        seen.extend(feed.fresh(&mut since, now, true, usize::MAX).unwrap().head);
        prop_assert_eq!(&seen, kept);
        let hash = Hash::of(kept);
        let (text, artifact) = if kept.len() <= HEAD_BYTES {
            (Some(kept.to_vec()), None)
        } else {
            let artifact = Artifact { path: "stdout.log".to_owned(), bytes: kept.len() as u64, hash };
            prop_assert_eq!(&fs::read(shelf.dir.path().join("stdout.log")).unwrap(), kept);
            (None, Some(artifact))
        };
        let bytes = kept.len() as u64;
        prop_assert_eq!(stream, Stream { bytes, lines: lines(kept), hash, text, artifact });

        let look = feed.fresh(&mut Progress::default(), now, true, window).unwrap();
        prop_assert_eq!(&look.head, &kept[..look.head.len()]);
        let least = kept.len().min(window).saturating_sub(3);
        prop_assert_eq!((least..=window).contains(&look.head.len()), true);
    }
}

/// Its one artifact is a pipe that nobody reads: it takes what fits and then fails, like a disk that is full.
struct Tank {
    filled: usize,
    rest: Mutex<Option<File>>,
}

impl ArtifactSink for Tank {
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
        unreachable!("nobody looks")
    }
}

#[test]
fn wherever_the_disk_fails_the_fault_says_how_much_was_kept() {
    const SIZE: usize = 64 << 10;
    let all = bytes(SIZE + 1);
    let mut places = BTreeSet::new();
    for filled in (0..SIZE).step_by(499) {
        let tank = Arc::new(Tank { filled, rest: Mutex::default() });
        let (mut spool, _told) = spool(u64::MAX, &Arc::new(Feed::new(tank.clone())));
        let mut rest = &all[..];
        let trouble = loop {
            match push(&mut spool, rest, HEAD_BYTES / 2 + 1) {
                (0, Ok(())) => {
                    wait([spool.broken().as_fd()]).unwrap();
                    break spool.give_up();
                }
                (count, Ok(())) => rest = &rest[count..],
                (_, Err(trouble)) => break trouble,
            }
        };
        let Trouble::Lost(fault) = trouble else { panic!("{filled}: {trouble:?}") };
        let mut kept = Vec::new();
        tank.rest.lock().unwrap().take().unwrap().read_to_end(&mut kept).unwrap();
        kept.drain(..filled);
        assert!(all.starts_with(&kept));
        assert_eq!(fault.details.unwrap()["keptBytes"], kept.len(), "{}", fault.message);
        places.insert(kept.len());
        assert!(spool.finish().is_err());
    }
    // In the beginning that was in memory, and behind it.
    assert!(places.first() < Some(&HEAD_BYTES) && places.last() > Some(&HEAD_BYTES), "{places:?}");
}
