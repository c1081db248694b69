//! File systems that other machines have a hand in. There a mapped read can fail at any time, and the answer of the
//! operating system to that is SIGBUS.

use super::io::Access;

/// The numbers by which `statfs` tells network file systems and folders that a host shares with a virtual machine.
/// Those of Linux are in its include/uapi/linux/magic.h and in statfs(2); those of others are their own choice, as
/// src/stat.c of GNU coreutils collects them.
const REMOTE: [u32; 24] = [
    0x6969,      // NFS
    0x517B,      // SMB
    0xFF53_4D42, // CIFS
    0xFE53_4D42, // SMB 2 and 3
    0x6573_5546, // FUSE: sshfs, GlusterFS, object stores, virtiofs
    0x0BD0_0BD0, // Lustre
    0x00C3_6400, // Ceph
    0x0102_1997, // 9P
    0x5346_414F, // AFS, OpenAFS
    0x6B41_4653, // AFS of the kernel
    0x4750_4653, // GPFS, Storage Scale
    0x1983_0326, // BeeGFS
    0xAAD7_AAEA, // PanFS
    0x2003_0528, // OrangeFS
    0x1803_1977, // WekaFS
    0x7461_636F, // OCFS2
    0x0116_1970, // GFS2
    0xBEEF_DEAD, // StorNext
    0x0131_11A8, // Ibrix
    0x7375_7245, // Coda
    0x564C,      // NetWare
    0x786F_4256, // VirtualBox
    0xBACB_ACBC, // VMware
    0x7C7C_6673, // Parallels
];

/// How the files of a file system of that number are read unless somebody says; none stands for one that did not tell.
pub(super) fn access(magic: Option<u32>) -> Access {
    match magic {
        Some(magic) if !REMOTE.contains(&magic) => Access::Mmap,
        // Reading is right everywhere, and mapping only where it is known to be.
        _ => Access::Pread,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_other_machines_are_read_and_those_of_this_one_mapped() {
        const NFS: u32 = 0x6969;
        const FUSE: u32 = 0x6573_5546;
        const CIFS: u32 = 0xFF53_4D42;
        for magic in [NFS, FUSE, CIFS] {
            assert_eq!(access(Some(magic)), Access::Pread, "{magic:#x}");
        }
        const EXT4: u32 = 0xEF53;
        const XFS: u32 = 0x5846_5342;
        const BTRFS: u32 = 0x9123_683E;
        const TMPFS: u32 = 0x0102_1994;
        const OVERLAY: u32 = 0x794C_7630;
        for magic in [EXT4, XFS, BTRFS, TMPFS, OVERLAY] {
            assert_eq!(access(Some(magic)), Access::Mmap, "{magic:#x}");
        }
        assert_eq!(access(None), Access::Pread);
    }
}
