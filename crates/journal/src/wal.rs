//! The write-ahead log: one preallocated file that makes a record durable with one sync.
//!
//! Layout: two header slots of one page each, then frames. A *generation* starts at a checkpoint, when
//! everything so far is synced in the three logs; its header contains the length of each log at that time.
//! Its frames hold the records since, in order. The file is filled with zeros first, so that a commit changes
//! neither its length nor its extents and the sync has only data to write.
//!
//! Headers alternate between the slots, so that a torn header leaves the previous one intact. A frame counts
//! only if it has the generation of the header and continues the chain: leftovers of an earlier generation
//! cannot be taken for records. The chain's own hash is the checksum of a frame.

use std::io;

use envelope::Hash;

use crate::disk::{FolderHandle, LogFile};
use crate::line::{ChainLink, MAX_LINE};
use crate::log_kind::{ChainHead, LogKind, Seq};
use crate::problem::{JournalProblem, ProblemKind};

pub(crate) const WAL_FILE: &str = "journal.wal";

const PAGE: u64 = 4096;
const FRAMES_AT: u64 = 2 * PAGE;
const MAGIC: &[u8; 8] = b"tollwal1";
const HEADER_LEN: usize = 8 + 8 + 8 + 32 + 3 * 8 + 32;
const FRAME_HEAD: usize = 4 + 8 + 8 + 4;

/// Initial length, small because small runs should not pay for a large file; a run that fills it gets
/// [`GROWN_LEN`].
pub(crate) const FIRST_LEN: u64 = 256 << 10;
const GROWN_LEN: u64 = 4 << 20;

/// The state of the three synced logs at the start of a generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WalCheckpoint {
    pub head: ChainHead,
    /// The length of each log, by [`LogKind::index`].
    pub lens: [u64; 3],
}

/// The open write-ahead log, written by the committer only.
pub(crate) struct WalWriter {
    file: Box<dyn LogFile>,
    generation: u64,
    next: u64,
    len: u64,
    frames: Vec<u8>,
}

/// One record of a batch.
pub(crate) struct WalFrame<'a> {
    pub seq: Seq,
    pub kind: LogKind,
    /// With its newline.
    pub line: &'a [u8],
}

impl WalWriter {
    /// Fills a new file with zeros and starts its first generation. Durable when this returns.
    pub(crate) fn format(mut file: Box<dyn LogFile>, start: &WalCheckpoint) -> io::Result<WalWriter> {
        file.write_at(0, &vec![0; FIRST_LEN as usize])?;
        let mut wal = WalWriter { file, generation: 0, next: FRAMES_AT, len: FIRST_LEN, frames: Vec::new() };
        wal.restart(start)?;
        wal.sync()?;
        Ok(wal)
    }

    /// Continues in a file that a crash left. Durable when this returns.
    pub(crate) fn resume(
        file: Box<dyn LogFile>,
        seen: &WalContents,
        start: &WalCheckpoint,
    ) -> io::Result<WalWriter> {
        let mut wal = WalWriter {
            file,
            generation: seen.generation,
            next: FRAMES_AT,
            len: seen.len,
            frames: Vec::new(),
        };
        wal.restart(start)?;
        wal.sync()?;
        Ok(wal)
    }

    /// Starts a generation. The caller has synced the three logs up to `start`. The header is not synced
    /// here: until it is on the disk the previous header is valid, whose records are all in the synced logs.
    pub(crate) fn restart(&mut self, start: &WalCheckpoint) -> io::Result<()> {
        self.generation = self.generation.wrapping_add(1);
        let slot = (self.generation % 2) * PAGE;
        self.file.write_at(slot, &header_bytes(self.generation, start))?;
        self.next = FRAMES_AT;
        Ok(())
    }

    /// Enlarges a log that is too small for its run; at most once.
    pub(crate) fn grow(&mut self) -> io::Result<()> {
        if self.len < GROWN_LEN {
            self.file.write_at(self.len, &vec![0; (GROWN_LEN - self.len) as usize])?;
            self.len = GROWN_LEN;
        }
        Ok(())
    }

    /// Whether a batch with this many records and bytes fits behind the existing frames.
    pub(crate) fn fits(&self, records: usize, bytes: usize) -> bool {
        self.next + (records * FRAME_HEAD + bytes) as u64 <= self.len
    }

    /// Writes a batch with one call. Not durable before [`WalWriter::sync`].
    pub(crate) fn write<'a>(&mut self, batch: impl Iterator<Item = WalFrame<'a>>) -> io::Result<()> {
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

fn header_bytes(generation: u64, start: &WalCheckpoint) -> Vec<u8> {
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

/// The content of a write-ahead log that a crash, or a run in progress, left.
#[derive(Debug)]
pub(crate) struct WalContents {
    generation: u64,
    len: u64,
    pub start: WalCheckpoint,
    /// The records since `start`, in order and without a gap.
    pub records: Vec<WalRecord>,
}

#[derive(Debug)]
pub(crate) struct WalRecord {
    pub kind: LogKind,
    pub link: ChainLink,
    /// With its newline.
    pub line: Vec<u8>,
}

/// The state of the write-ahead log file after a crash.
#[derive(Debug)]
pub(crate) enum WalFile {
    /// No file, or one that was never ready for a record.
    Nothing,
    Log(WalContents),
    /// There are frames, perhaps acknowledged and in no other file, but the header to read them is missing.
    Unreadable,
}

/// One of the two header slots.
enum HeaderSlot {
    Blank,
    Header(u64, WalCheckpoint),
    Unreadable,
}

impl WalFile {
    pub(crate) fn read(dir: &FolderHandle) -> io::Result<WalFile> {
        Ok(dir.read_file(WAL_FILE)?.map_or(WalFile::Nothing, |bytes| WalFile::parse(&bytes)))
    }

    /// Parses the file; distinguishes the states that a power cut can leave from damage.
    ///
    /// A header fits into one sector, so a power cut leaves a slot in its old or its new state. The first
    /// header is synced, with the zeros around it, before the first frame is written: without any header
    /// there can be no frame. From then on one slot always has a header, because the next one goes to the
    /// other slot. A frame can be there without the header of its generation, if neither was synced; then
    /// that slot is blank or has the header before the last.
    ///
    /// Only a write that failed halfway leaves half a header, and no frame follows a failure. So a slot that
    /// is neither blank nor readable is harmless as long as no frame could be of its generation; otherwise
    /// its header existed and was lost.
    fn parse(bytes: &[u8]) -> WalFile {
        let slots = [0, PAGE as usize].map(|at| HeaderSlot::read(bytes.get(at..).unwrap_or_default()));
        let unreadable = slots.iter().any(|slot| matches!(slot, HeaderSlot::Unreadable));
        let headers = slots.into_iter().filter_map(|slot| match slot {
            HeaderSlot::Header(generation, start) => Some((generation, start)),
            HeaderSlot::Blank | HeaderSlot::Unreadable => None,
        });
        let frames = bytes.get(FRAMES_AT as usize..).unwrap_or_default();
        match headers.max_by_key(|(generation, _)| *generation) {
            Some((generation, _)) if unreadable && first_generation(frames) > generation => {
                WalFile::Unreadable
            }
            Some((generation, start)) => WalFile::Log(WalContents::parse(bytes, generation, start)),
            None if frames.iter().any(|byte| *byte != 0) => WalFile::Unreadable,
            None => WalFile::Nothing,
        }
    }

    pub(crate) fn log(&self) -> Option<&WalContents> {
        match self {
            WalFile::Log(seen) => Some(seen),
            WalFile::Nothing | WalFile::Unreadable => None,
        }
    }

    /// Returns the problem report for a log that cannot be read.
    pub(crate) fn problem(&self) -> Option<JournalProblem> {
        matches!(self, WalFile::Unreadable).then(|| JournalProblem {
            file: WAL_FILE.to_owned(),
            line: None,
            offset: None,
            seq: None,
            what: ProblemKind::Changed,
            message: "its header was changed, so records that exist only there cannot be read; \
                      to continue without them, move the file out of the folder"
                .to_owned(),
        })
    }
}

impl HeaderSlot {
    fn read(bytes: &[u8]) -> HeaderSlot {
        let bytes = bytes.get(..HEADER_LEN).unwrap_or(bytes);
        match read_header(bytes) {
            Some((generation, start)) => HeaderSlot::Header(generation, start),
            None if bytes.iter().all(|byte| *byte == 0) => HeaderSlot::Blank,
            None => HeaderSlot::Unreadable,
        }
    }
}

/// Returns the generation in the first frame; 0 if none was ever written.
fn first_generation(frames: &[u8]) -> u64 {
    let mut fields = FieldReader(frames);
    fields.take::<4>().and_then(|_| fields.number()).unwrap_or(0)
}

impl WalContents {
    /// Reads the log of a run folder. Returns `None` if it does not exist or cannot be read.
    pub(crate) fn read(dir: &FolderHandle) -> io::Result<Option<WalContents>> {
        Ok(match WalFile::read(dir)? {
            WalFile::Log(seen) => Some(seen),
            WalFile::Nothing | WalFile::Unreadable => None,
        })
    }

    fn parse(bytes: &[u8], generation: u64, start: WalCheckpoint) -> WalContents {
        let mut records = Vec::new();
        let (mut head, mut at) = (start.head, FRAMES_AT as usize);
        while let Some((record, len)) = bytes.get(at..).and_then(|rest| read_frame(rest, generation, &head)) {
            head = record.link.head();
            at += len;
            records.push(record);
        }
        WalContents { generation, len: bytes.len() as u64, start, records }
    }

    /// Returns the record with number `seq`, if the log has it.
    pub(crate) fn get(&self, seq: Seq) -> Option<&WalRecord> {
        let index = seq.checked_sub(self.start.head.seq.checked_add(1)?)?;
        self.records.get(usize::try_from(index).ok()?)
    }
}

/// Reads fixed-size fields from the front of a byte string.
struct FieldReader<'a>(&'a [u8]);

impl FieldReader<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (field, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*field)
    }

    fn number(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }
}

fn read_header(bytes: &[u8]) -> Option<(u64, WalCheckpoint)> {
    let bytes = bytes.get(..HEADER_LEN)?;
    let (said, check) = bytes.split_at(HEADER_LEN - 32);
    if Hash::of(said).as_bytes() != check {
        return None;
    }
    let mut fields = FieldReader(said.strip_prefix(MAGIC)?);
    let generation = fields.number()?;
    let seq = fields.number()?;
    let hash = Hash::from_bytes(fields.take()?);
    let lens = [fields.number()?, fields.number()?, fields.number()?];
    Some((generation, WalCheckpoint { head: ChainHead { seq, hash }, lens }))
}

/// Reads the frame that continues `head`. Returns it with its length.
fn read_frame(bytes: &[u8], generation: u64, head: &ChainHead) -> Option<(WalRecord, usize)> {
    let mut fields = FieldReader(bytes);
    let len = u32::from_le_bytes(fields.take()?) as usize;
    let (of, seq) = (fields.number()?, fields.number()?);
    let [kind, 0, 0, 0] = fields.take()? else { return None };
    let kind = LogKind::from_byte(kind)?;
    if of != generation || Some(seq) != head.seq.checked_add(1) || len > MAX_LINE {
        return None;
    }
    let line = fields.0.get(..len)?;
    let text = line.strip_suffix(b"\n")?;
    let link = ChainLink::read(text)?;
    let continues = link.seq == seq && link.prev == head.hash && link.is_valid(kind, text);
    continues.then(|| (WalRecord { kind, link, line: line.to_vec() }, FRAME_HEAD + len))
}
