//! Servers of others behind the gate, through the binary: hostile ones that do no harm, and real ones that work.

mod approving;
mod conformance;
mod hostile;
mod published;
mod rig;
mod serving;
mod sharing;
