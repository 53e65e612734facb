//! A terminal for a command that wants one.
//!
//! Only the pair is made here. Who gets the child's side makes it the terminal of its session by itself: that
//! has to happen in the child.

use std::io;
use std::os::fd::OwnedFd;

use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

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
    // Without `NOCTTY` it could become *our* terminal.
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let ours = openpt(flags)?;
    grantpt(&ours)?;
    unlockpt(&ours)?;
    let size = Winsize { ws_row: window.rows, ws_col: window.columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&ours, size)?;
    // Asked of the pair itself: a name under `/dev/pts` could mean another one where that is mounted anew.
    let theirs = ioctl_tiocgptpeer(&ours, flags)?;
    Ok((ours, theirs))
}
