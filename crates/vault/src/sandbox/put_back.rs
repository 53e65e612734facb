//! The way back from an exchange that took out another file than it should have.
//!
//! Other programs go on writing meanwhile, and whatever they put in the place is newer than what is given
//! back. So nothing here goes by name alone: what comes out of each exchange is looked at.

use envelope::{DataRef, Fault, FileState, VaultPath};
use rustix::io::Errno;

use super::change::Witness;
use super::fault;
use super::temp::{Exchange, Temp};
use super::unstoppable::Unstoppable;

/// Others who write in the very moment between two exchanges are not met more often.
const MAX_EXCHANGES: u32 = 16;

/// Exchanges back what was taken out by mistake. Whatever has come into the place meanwhile is newer than what
/// is put there, so it goes back in turn, until what comes out is what was put in. What is under the hidden
/// name then goes: our own file, or else content that the store has by then. Anything else is left there.
pub(super) fn put_back(
    temp: &mut Temp<'_>,
    name: &str,
    path: &VaultPath,
    ours: &FileState,
    witness: &dyn Witness,
) -> Result<(), Fault> {
    let failed = |error: Errno| fault::from_errno("put back", path.as_str(), error);
    let back = exchange_back(temp, name).map_err(failed);
    // Not asked whether it may go on: to stop here would leave the wrong file in the place.
    if !can_go(temp, path, ours, &Unstoppable(witness)) {
        temp.leave();
    }
    back
}

fn exchange_back(temp: &mut Temp<'_>, name: &str) -> Result<(), Errno> {
    let mut expected = temp.identity()?;
    for _ in 0..MAX_EXCHANGES {
        let given = temp.hidden_identity()?;
        match temp.exchange(name) {
            Ok(Exchange::Done | Exchange::NotPossible) => {}
            // Removed by somebody who meant our file or the one before it. It costs nobody anything if it is
            // there again, and something if it is lost.
            Err(Errno::NOENT) => return temp.give_back(name),
            Err(error) => return Err(error),
        }
        if temp.hidden_identity()? == expected {
            return Ok(());
        }
        expected = given;
    }
    Ok(())
}

/// Whether nothing is lost when the hidden name goes.
fn can_go(temp: &Temp<'_>, path: &VaultPath, ours: &FileState, witness: &dyn Witness) -> bool {
    if !temp.has_hidden() {
        return true;
    }
    let Ok(state) = temp.hidden_state(path, witness) else {
        return false;
    };
    let is_ours = temp.identity().is_ok_and(|ours| temp.hidden_identity() == Ok(ours));
    if is_ours && state.hash == ours.hash {
        return true;
    }
    // A stranger's file, or ours with something that a stranger has added to it.
    temp.open_hidden().is_ok_and(|mut file| witness.keep(&mut file).is_ok()) && is_kept(&state, witness)
}

/// Whether the store has this content for sure: a witness without a store takes everything and has nothing.
pub(super) fn is_kept(state: &FileState, witness: &dyn Witness) -> bool {
    let wanted = DataRef { hash: state.hash, bytes: state.bytes };
    witness.fetch(&wanted, &mut std::io::sink()).is_ok()
}
