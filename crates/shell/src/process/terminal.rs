//! A terminal for a command.
//!
//! This module only opens the pair. Making it the controlling terminal of a session has to happen in the child.

use std::io;
use std::os::fd::OwnedFd;

use rustix::pty::{grantpt, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::platform;

/// Size of a terminal in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalSize {
    pub rows: u16,
    pub columns: u16,
}

impl Default for TerminalSize {
    fn default() -> TerminalSize {
        TerminalSize { rows: 24, columns: 80 }
    }
}

/// Returns our side and the child's side.
pub(super) fn open(window: TerminalSize) -> io::Result<(OwnedFd, OwnedFd)> {
    let ours = platform::open_terminal()?;
    grantpt(&ours)?;
    unlockpt(&ours)?;
    let size = Winsize { ws_row: window.rows, ws_col: window.columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&ours, size)?;
    let theirs = platform::open_terminal_peer(&ours)?;
    Ok((ours, theirs))
}
