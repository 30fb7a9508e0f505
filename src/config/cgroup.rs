//! The memory limit of the cgroup that this process is in, v1 and v2.
//!
//! Neither a limit nor a cgroup is `None`: the host's memory is not a limit. Limits of parents count too; the least wins.

use std::fs;
use std::path::{Path, PathBuf};

/// v1 writes "no limit" as the largest multiple of the page size; anything of this order is none.
const NO_LIMIT: u64 = 1 << 60;

/// The limit in bytes.
#[must_use]
pub fn memory_limit() -> Option<u64> {
    memory_limit_below(Path::new("/"))
}

/// The limit as a tree below `root` (with `proc` and `sys`) tells it; for tests, made-up trees.
#[must_use]
pub fn memory_limit_below(root: &Path) -> Option<u64> {
    let membership = fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    let base = root.join("sys/fs/cgroup");
    let v2 = membership.lines().find_map(|line| line.strip_prefix("0::"));
    let v1 = membership.lines().find_map(|line| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        controllers
            .split(',')
            .any(|name| name == "memory")
            .then_some(path)
    });
    let v2 = v2.and_then(|path| least(&base, path, "memory.max"));
    let v1 = v1.and_then(|path| least(&base.join("memory"), path, "memory.limit_in_bytes"));
    [v1, v2].into_iter().flatten().min()
}

/// The least limit on the way from a cgroup up to the mount. Inside a container the path may name a directory that only
/// the host sees; then the mount itself is the container's cgroup.
fn least(mount: &Path, path: &str, file: &str) -> Option<u64> {
    let mut directories = vec![mount.to_owned()];
    let mut directory = PathBuf::from(mount);
    for part in path
        .split('/')
        .filter(|part| !part.is_empty() && *part != "..")
    {
        directory.push(part);
        directories.push(directory.clone());
    }
    directories
        .iter()
        .filter_map(|directory| read(&directory.join(file)))
        .min()
}

fn read(path: &Path) -> Option<u64> {
    // v2 writes "max" for none, which is no number.
    let limit: u64 = fs::read_to_string(path).ok()?.trim().parse().ok()?;
    (limit < NO_LIMIT).then_some(limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(files: &[(&str, &str)], expected: Option<u64>) {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        assert_eq!(memory_limit_below(root.path()), expected, "{files:?}");
    }

    #[test]
    fn v2() {
        let at = |path: &str| format!("0::{path}\n");
        check(
            &[
                ("proc/self/cgroup", &at("/")),
                ("sys/fs/cgroup/memory.max", "1073741824\n"),
            ],
            Some(1 << 30),
        );
        check(
            &[
                ("proc/self/cgroup", &at("/")),
                ("sys/fs/cgroup/memory.max", "max\n"),
            ],
            None,
        );
        check(&[("proc/self/cgroup", &at("/"))], None);
        check(
            &[
                ("proc/self/cgroup", &at("/a.slice/b.service")),
                ("sys/fs/cgroup/a.slice/memory.max", "1000\n"),
                ("sys/fs/cgroup/a.slice/b.service/memory.max", "2000\n"),
            ],
            Some(1000),
        );
        // The container sees its own cgroup as the mount, under the host's path.
        check(
            &[
                ("proc/self/cgroup", &at("/kubepods/pod1/c1")),
                ("sys/fs/cgroup/memory.max", "4096\n"),
            ],
            Some(4096),
        );
    }

    #[test]
    fn v1_and_hybrid() {
        let v1 = "12:cpu,cpuacct:/x\n5:memory:/docker/abc\n";
        check(
            &[
                ("proc/self/cgroup", v1),
                (
                    "sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes",
                    "512\n",
                ),
            ],
            Some(512),
        );
        check(
            &[
                ("proc/self/cgroup", v1),
                ("sys/fs/cgroup/memory/memory.limit_in_bytes", "512\n"),
            ],
            Some(512),
        );
        let unlimited = "9223372036854771712\n";
        check(
            &[
                ("proc/self/cgroup", v1),
                ("sys/fs/cgroup/memory/memory.limit_in_bytes", unlimited),
            ],
            None,
        );
        let hybrid = "5:memory:/a\n0::/b\n";
        check(
            &[
                ("proc/self/cgroup", hybrid),
                ("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "100\n"),
                ("sys/fs/cgroup/b/memory.max", "50\n"),
            ],
            Some(50),
        );
    }

    #[test]
    fn nonsense() {
        check(&[], None);
        check(
            &[
                ("proc/self/cgroup", "garbage"),
                ("sys/fs/cgroup/memory.max", "1"),
            ],
            None,
        );
        check(
            &[
                ("proc/self/cgroup", "0::/\n"),
                ("sys/fs/cgroup/memory.max", "-5"),
            ],
            None,
        );
        check(
            &[
                ("proc/self/cgroup", "0::/../../etc\n"),
                ("sys/fs/cgroup/memory.max", "7"),
            ],
            Some(7),
        );
    }
}
