//! The umask of this process: with an odd one a writer could not use what it makes.

use rustix::io::Errno;

use crate::error::{Error, Result};

/// What a writer needs of its own directories and files: to read, to write, to enter.
const OWNER: u32 = 0o700;

/// Refuses a umask that takes from the owner of a file what the owner needs. Nothing is made before that is known.
pub(super) fn check() -> Result<()> {
    match umask() {
        Some(umask) if umask & OWNER != 0 => Err(refused(umask)),
        _ => Ok(()),
    }
}

/// The umask, where the system tells it: to ask for it otherwise is to change it, for every thread of the process.
fn umask() -> Option<u32> {
    of_status(&std::fs::read_to_string("/proc/self/status").ok()?)
}

fn of_status(status: &str) -> Option<u32> {
    let digits = status.lines().find_map(|line| line.strip_prefix("Umask:"))?;
    u32::from_str_radix(digits.trim(), 8).ok()
}

fn refused(umask: u32) -> Error {
    let doing = format!(
        "making files with the umask {umask:03o}, by which their owner can not read, write or enter them; nothing was \
         written. Set another one first, such as 022"
    );
    Error::io(doing, Errno::ACCESS.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_umask_is_found_where_the_system_tells_it() {
        assert_eq!(of_status("Name:\tx\nUmask:\t0027\nState:\tR\n"), Some(0o027));
        assert_eq!(of_status("Name:\tUmask:\nState:\tR\n"), None);
        assert_eq!(of_status("Umask:\t\n"), None);
        assert!(check().is_ok());
    }

    #[test]
    fn a_umask_is_refused_as_a_permission_that_is_missing() {
        let error = refused(0o777);
        assert_eq!(error.os_code(), Some(Errno::ACCESS.raw_os_error()));
        assert!(error.to_string().contains("the umask 777"), "{error}");
    }
}
