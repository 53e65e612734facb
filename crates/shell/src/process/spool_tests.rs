//! Any way to cut a stream into pieces keeps the same stream, and any byte may be the one that fails.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex};

use envelope::{Artifact, Fault, Hash};
use proptest::prelude::{ProptestConfig, any, prop_assert_eq, proptest};
use rustix::pipe::{PipeFlags, pipe_with};
use tempfile::TempDir;
use toolkit::{ArtifactSink, OpenArtifact};

use super::feed::{Feed, Progress};
use super::spool::{HEAD_BYTES, Spool, Stream, Trouble, write_all};

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
        let mut spool = Spool::new("stdout", limit as u64, Arc::clone(&feed));
        let (mut rest, mut since, mut seen, mut over) = (&all[..], Progress::default(), Vec::new(), false);
        for cut in cuts.iter().cycle() {
            if rest.is_empty() || over {
                break;
            }
            let (now, later) = rest.split_at((*cut).min(rest.len()));
            let mut piece = spool.piece().unwrap();
            piece.clear();
            piece.extend_from_slice(now);
            over = spool.push(piece) == Err(Trouble::OverLimit);
            let fresh = feed.fresh(&mut since, spool.progress(), true, HEAD_BYTES * 2).unwrap();
            seen.extend_from_slice(&fresh.head);
            seen.extend_from_slice(&fresh.tail);
            rest = later;
        }
        let kept = &all[..count.min(limit)];
        prop_assert_eq!(over, count > limit);
        prop_assert_eq!(&seen, kept);
        let now = spool.progress();
        let stream = spool.finish().unwrap();
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
        prop_assert_eq!(&look.tail, &kept[kept.len() - look.tail.len()..]);
        let between = &kept[look.head.len()..kept.len() - look.tail.len()];
        let newlines = between.iter().filter(|byte| **byte == b'\n').count() as u64;
        prop_assert_eq!(look.left_out, Progress { bytes: between.len() as u64, newlines });
    }
}

/// Takes so many bytes, a few at a time, and then has no room.
struct Narrow {
    room: usize,
    stride: usize,
    taken: Vec<u8>,
}

impl Write for Narrow {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = bytes.len().min(self.stride).min(self.room - self.taken.len());
        self.taken.extend_from_slice(&bytes[..count]);
        if count == 0 { Err(io::ErrorKind::StorageFull.into()) } else { Ok(count) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn whichever_byte_finds_no_room_those_before_it_are_counted() {
    let all = bytes(200);
    for (room, stride) in (0..=all.len()).flat_map(|room| (1..7).map(move |stride| (room, stride))) {
        let mut narrow = Narrow { room, stride, taken: Vec::new() };
        let written = match write_all(&mut narrow, &all) {
            Ok(()) => all.len() as u64,
            Err((written, error)) => {
                assert_eq!(error.kind(), io::ErrorKind::StorageFull);
                written
            }
        };
        assert_eq!((written, narrow.taken.as_slice()), (room as u64, &all[..room]));
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
        let mut spool = Spool::new("stdout", u64::MAX, Arc::new(Feed::new(tank.clone())));
        let mut pieces = all.chunks(HEAD_BYTES / 2 + 1);
        let trouble = pieces.find_map(|piece| spool.push(piece.to_vec()).err());
        let Some(Trouble::Lost(fault)) = trouble else { panic!("{filled}: {trouble:?}") };
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
