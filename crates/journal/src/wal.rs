//! The write-ahead log: one preallocated file that makes a record durable with one sync.
//!
//! Layout: two header slots of one page each, then frames. A *generation* starts at a checkpoint, when
//! everything so far is synced in the three logs; its header says where each log ended then. Its frames hold
//! the records since, in order. The file is written full of zeros first, so that a commit changes neither its
//! length nor its extents and the sync has only data to write.
//!
//! Headers alternate between the slots, so that a torn header leaves the one before it. A frame counts only
//! if it carries the generation of the header and continues the chain: what an earlier generation left
//! behind cannot be taken for a record. The chain's own hash is the checksum of a frame.

use std::io;

use envelope::Hash;

use crate::disk::{Dir, LogFile};
use crate::kind::{ChainHead, Kind, Seq};
use crate::line::{Link, MAX_LINE};
use crate::problem::{Problem, ProblemKind};

pub(crate) const WAL_FILE: &str = "journal.wal";

const PAGE: u64 = 4096;
const FRAMES_AT: u64 = 2 * PAGE;
const MAGIC: &[u8; 8] = b"tollwal1";
const HEADER_LEN: usize = 8 + 8 + 8 + 32 + 3 * 8 + 32;
const FRAME_HEAD: usize = 4 + 8 + 8 + 4;

/// Small runs should not pay for a large file; a run that fills this one gets [`GROWN_LEN`].
pub(crate) const FIRST_LEN: u64 = 256 << 10;
const GROWN_LEN: u64 = 4 << 20;

/// Up to where the three logs were synced when a generation began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Checkpoint {
    pub head: ChainHead,
    /// The length of each log, by [`Kind::index`].
    pub lens: [u64; 3],
}

/// The open log, written by the committer only.
pub(crate) struct Wal {
    file: Box<dyn LogFile>,
    generation: u64,
    next: u64,
    len: u64,
    frames: Vec<u8>,
}

/// One record of a batch.
pub(crate) struct Framed<'a> {
    pub seq: Seq,
    pub kind: Kind,
    /// With its newline.
    pub line: &'a [u8],
}

impl Wal {
    /// Fills a new file with zeros and starts its first generation. Durable when this returns.
    pub(crate) fn format(mut file: Box<dyn LogFile>, start: &Checkpoint) -> io::Result<Wal> {
        file.write_at(0, &vec![0; FIRST_LEN as usize])?;
        let mut wal = Wal { file, generation: 0, next: FRAMES_AT, len: FIRST_LEN, frames: Vec::new() };
        wal.restart(start)?;
        wal.sync()?;
        Ok(wal)
    }

    /// Goes on in a file that a crash left behind. Durable when this returns.
    pub(crate) fn resume(file: Box<dyn LogFile>, seen: &Seen, start: &Checkpoint) -> io::Result<Wal> {
        let mut wal =
            Wal { file, generation: seen.generation, next: FRAMES_AT, len: seen.len, frames: Vec::new() };
        wal.restart(start)?;
        wal.sync()?;
        Ok(wal)
    }

    /// Starts a generation. The caller has synced the three logs up to `start`. Not synced itself: as long
    /// as the header is not on the disk the one before it holds, whose records are all in the synced logs.
    pub(crate) fn restart(&mut self, start: &Checkpoint) -> io::Result<()> {
        self.generation = self.generation.wrapping_add(1);
        let slot = (self.generation % 2) * PAGE;
        self.file.write_at(slot, &header_bytes(self.generation, start))?;
        self.next = FRAMES_AT;
        Ok(())
    }

    /// Lengthens a log that turned out to be too small for its run; at most once.
    pub(crate) fn grow(&mut self) -> io::Result<()> {
        if self.len < GROWN_LEN {
            self.file.write_at(self.len, &vec![0; (GROWN_LEN - self.len) as usize])?;
            self.len = GROWN_LEN;
        }
        Ok(())
    }

    /// Whether a batch of that many records and bytes fits behind what is there.
    pub(crate) fn fits(&self, records: usize, bytes: usize) -> bool {
        self.next + (records * FRAME_HEAD + bytes) as u64 <= self.len
    }

    /// Writes a batch with one call. Not durable before [`Wal::sync`].
    pub(crate) fn write<'a>(&mut self, batch: impl Iterator<Item = Framed<'a>>) -> io::Result<()> {
        self.frames.clear();
        for record in batch {
            self.frames.extend_from_slice(&(record.line.len() as u32).to_le_bytes());
            self.frames.extend_from_slice(&self.generation.to_le_bytes());
            self.frames.extend_from_slice(&record.seq.to_le_bytes());
            self.frames.extend_from_slice(&[record.kind.byte(), 0, 0, 0]);
            self.frames.extend_from_slice(record.line);
        }
        self.file.write_at(self.next, &self.frames)?;
        self.next += self.frames.len() as u64;
        Ok(())
    }

    pub(crate) fn sync(&mut self) -> io::Result<()> {
        self.file.sync()
    }
}

fn header_bytes(generation: u64, start: &Checkpoint) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER_LEN);
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&generation.to_le_bytes());
    bytes.extend_from_slice(&start.head.seq.to_le_bytes());
    bytes.extend_from_slice(start.head.hash.as_bytes());
    for len in start.lens {
        bytes.extend_from_slice(&len.to_le_bytes());
    }
    let check = Hash::of(&bytes);
    bytes.extend_from_slice(check.as_bytes());
    bytes
}

/// What a reader finds in a log that a crash, or a run that is still going, left there.
#[derive(Debug)]
pub(crate) struct Seen {
    generation: u64,
    len: u64,
    pub start: Checkpoint,
    /// The records since `start`, in order and without a gap.
    pub records: Vec<SeenRecord>,
}

#[derive(Debug)]
pub(crate) struct SeenRecord {
    pub kind: Kind,
    pub link: Link,
    /// With its newline.
    pub line: Vec<u8>,
}

/// What is to be made of the file that a crash left.
#[derive(Debug)]
pub(crate) enum Left {
    /// No file, or one that was never ready to take a record.
    Nothing,
    Log(Seen),
    /// Frames are there, perhaps acknowledged and in no other file, and the header to read them by is not.
    Unreadable,
}

/// One of the two places for a header.
enum Slot {
    Blank,
    Header(u64, Checkpoint),
    Unreadable,
}

impl Left {
    pub(crate) fn read(dir: &Dir) -> io::Result<Left> {
        Ok(dir.read_all(WAL_FILE)?.map_or(Left::Nothing, |bytes| Left::parse(&bytes)))
    }

    /// Tells what a power cut can leave from what it cannot.
    ///
    /// A header fits into one sector, so a power cut leaves a slot as it was or as it was to be. The first
    /// header is synced, with the zeros around it, before the first frame is written: without any header there
    /// can be no frame. From then on one slot always has a header, because the next one goes to the other
    /// slot. A frame may be there without the header of its generation, if neither was synced; then that slot
    /// is blank or has the header before the last.
    ///
    /// Only a write that failed halfway leaves half a header, and no frame comes after a failure. So a slot
    /// that is neither blank nor readable is harmless as long as no frame could be of its generation;
    /// otherwise its header was there and is not any more.
    fn parse(bytes: &[u8]) -> Left {
        let slots = [0, PAGE as usize].map(|at| Slot::read(bytes.get(at..).unwrap_or_default()));
        let unreadable = slots.iter().any(|slot| matches!(slot, Slot::Unreadable));
        let headers = slots.into_iter().filter_map(|slot| match slot {
            Slot::Header(generation, start) => Some((generation, start)),
            Slot::Blank | Slot::Unreadable => None,
        });
        let frames = bytes.get(FRAMES_AT as usize..).unwrap_or_default();
        match headers.max_by_key(|(generation, _)| *generation) {
            Some((generation, _)) if unreadable && first_generation(frames) > generation => Left::Unreadable,
            Some((generation, start)) => Left::Log(Seen::parse(bytes, generation, start)),
            None if frames.iter().any(|byte| *byte != 0) => Left::Unreadable,
            None => Left::Nothing,
        }
    }

    pub(crate) fn log(&self) -> Option<&Seen> {
        match self {
            Left::Log(seen) => Some(seen),
            Left::Nothing | Left::Unreadable => None,
        }
    }

    /// What to tell a person about a log that cannot be read.
    pub(crate) fn problem(&self) -> Option<Problem> {
        matches!(self, Left::Unreadable).then(|| Problem {
            file: WAL_FILE.to_owned(),
            line: None,
            offset: None,
            seq: None,
            what: ProblemKind::Changed,
            message: "its header is not what was written, so records that only it holds cannot be read; \
                      to go on without them, move it out of the folder"
                .to_owned(),
        })
    }
}

impl Slot {
    fn read(bytes: &[u8]) -> Slot {
        let bytes = bytes.get(..HEADER_LEN).unwrap_or(bytes);
        match read_header(bytes) {
            Some((generation, start)) => Slot::Header(generation, start),
            None if bytes.iter().all(|byte| *byte == 0) => Slot::Blank,
            None => Slot::Unreadable,
        }
    }
}

/// The generation that the first frame claims; 0 where none was ever written.
fn first_generation(frames: &[u8]) -> u64 {
    let mut fields = Fields(frames);
    fields.take::<4>().and_then(|_| fields.number()).unwrap_or(0)
}

impl Seen {
    /// Reads the log of a run folder. `None`: there is none, or none that can be read.
    pub(crate) fn read(dir: &Dir) -> io::Result<Option<Seen>> {
        Ok(match Left::read(dir)? {
            Left::Log(seen) => Some(seen),
            Left::Nothing | Left::Unreadable => None,
        })
    }

    fn parse(bytes: &[u8], generation: u64, start: Checkpoint) -> Seen {
        let mut records = Vec::new();
        let (mut head, mut at) = (start.head, FRAMES_AT as usize);
        while let Some((record, len)) = bytes.get(at..).and_then(|rest| read_frame(rest, generation, &head)) {
            head = record.link.head();
            at += len;
            records.push(record);
        }
        Seen { generation, len: bytes.len() as u64, start, records }
    }

    /// The record at `seq`, if the log holds it.
    pub(crate) fn get(&self, seq: Seq) -> Option<&SeenRecord> {
        let index = seq.checked_sub(self.start.head.seq.checked_add(1)?)?;
        self.records.get(usize::try_from(index).ok()?)
    }
}

/// Cuts fixed-size fields off the front of a byte string.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (field, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*field)
    }

    fn number(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }
}

fn read_header(bytes: &[u8]) -> Option<(u64, Checkpoint)> {
    let bytes = bytes.get(..HEADER_LEN)?;
    let (said, check) = bytes.split_at(HEADER_LEN - 32);
    if Hash::of(said).as_bytes() != check {
        return None;
    }
    let mut fields = Fields(said.strip_prefix(MAGIC)?);
    let generation = fields.number()?;
    let seq = fields.number()?;
    let hash = Hash::from_bytes(fields.take()?);
    let lens = [fields.number()?, fields.number()?, fields.number()?];
    Some((generation, Checkpoint { head: ChainHead { seq, hash }, lens }))
}

/// Reads the frame that continues `head`, and how long it is.
fn read_frame(bytes: &[u8], generation: u64, head: &ChainHead) -> Option<(SeenRecord, usize)> {
    let mut fields = Fields(bytes);
    let len = u32::from_le_bytes(fields.take()?) as usize;
    let (of, seq) = (fields.number()?, fields.number()?);
    let [kind, 0, 0, 0] = fields.take()? else { return None };
    let kind = Kind::from_byte(kind)?;
    if of != generation || Some(seq) != head.seq.checked_add(1) || len > MAX_LINE {
        return None;
    }
    let line = fields.0.get(..len)?;
    let text = line.strip_suffix(b"\n")?;
    let link = Link::read(text)?;
    let continues = link.seq == seq && link.prev == head.hash && link.holds(kind, text);
    continues.then(|| (SeenRecord { kind, link, line: line.to_vec() }, FRAME_HEAD + len))
}
