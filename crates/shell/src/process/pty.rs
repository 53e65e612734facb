//! A terminal for a command that wants one.
//!
//! Only the pair is made here. Who gets the child's side makes it the terminal of its session by itself: that
//! has to happen in the child.

use std::io;
use std::os::fd::OwnedFd;

use rustix::pty::{grantpt, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use super::system;

/// The size of a terminal in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    pub rows: u16,
    pub columns: u16,
}

impl Default for Window {
    fn default() -> Window {
        Window { rows: 24, columns: 80 }
    }
}

/// Our side and the child's side.
pub(super) fn open(window: Window) -> io::Result<(OwnedFd, OwnedFd)> {
    let ours = system::open_terminal()?;
    grantpt(&ours)?;
    unlockpt(&ours)?;
    let size = Winsize { ws_row: window.rows, ws_col: window.columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&ours, size)?;
    let theirs = system::other_side(&ours)?;
    Ok((ours, theirs))
}
