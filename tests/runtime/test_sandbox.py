"""Resources that a measured program must not reach, tried by programs; and its usual permissions."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from pathlib import Path

import pytest

from polylsp.measuring import confinement
from polylsp.measuring import isolation as kernel
from polylsp.measuring.confined_program import run
from polylsp.measuring.confinement import Isolation, Limits, isolation, open_to_programs

LIMITS = Limits(cpu_seconds=20, memory=2**32, file_size=2**20, processes=32)
HEAD = "#define _GNU_SOURCE\n" + "".join(
    f"#include <{name}.h>\n"
    for name in (
        "stdio",
        "stdlib",
        "string",
        "unistd",
        "errno",
        "fcntl",
        "dirent",
        "sched",
        "signal",
        "sys/socket",
        "sys/stat",
        "sys/syscall",
        "sys/un",
        "sys/xattr",
        "sys/mount",
        "sys/ptrace",
        "sys/ioctl",
        "utime",
    )
)
REFUSED = "refused"
Trying = Callable[..., str]


@pytest.fixture(params=[True, False], ids=["namespaces", "no namespaces"])
def separation(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """With and without namespaces, which some systems do not give."""
    if not request.param:
        monkeypatch.setattr(kernel, "separate", lambda: False)
    return request.param


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A file elsewhere that a program could change, but for the sandbox."""
    folder = tmp_path / "outside"
    folder.mkdir()
    for above in tmp_path.parents[:3]:
        above.chmod(above.stat().st_mode | 0o011)
    tmp_path.chmod(0o755)
    made = folder / "file"
    made.write_text("as it was")
    for each in (folder, made):
        open_to_programs(str(each))
    return made


@pytest.fixture
def in_c(folder: str, tmp_path: Path, outside: Path) -> Trying:
    """Runs a function body in C that is 0, or above, where it gets what it wants."""

    def tried(body: str, limits: Limits = LIMITS) -> str:
        source = tmp_path / "given.c"
        source.write_text(
            f'{HEAD}static const char *outside = "{outside}";\nstatic long attempt(void) {{ {body} }}\n'
            'int main(void) { puts(attempt() < 0 ? "refused" : "allowed"); return 0; }\n'
        )
        program = Path(folder, "given")
        subprocess.run(["gcc", "-w", "-O0", source, "-o", program], check=True)
        done = run([str(program)], folder, replace(limits, shown=(str(outside.parent),)), {}, 60.0)
        return done.words.strip() if done.status == 0 else f"status {done.status}"

    return tried


@pytest.fixture
def in_python(folder: str, outside: Path) -> Trying:
    """Runs lines of Python that raise an `OSError` where they do not get what they want."""

    def tried(body: str, limits: Limits = LIMITS) -> str:
        text = f"import os\noutside = {str(outside)!r}\n{body}"
        Path(folder, "given.py").write_text(
            f"try:\n    exec({text!r})\nexcept OSError:\n    print('refused')\nelse:\n    print('allowed')\n"
        )
        shown = (str(outside.parent), sys.prefix, sys.base_prefix)
        limits = replace(limits, reads=(sysconfig.get_path("stdlib"),), shown=shown)
        done = run([sys.executable, "-I", "-S", "given.py"], folder, limits, {}, 60.0)
        return done.words.strip() if done.status == 0 else f"{done.status}: {done.words}"

    return tried


@pytest.fixture
def service(folder: str) -> Iterator[str]:
    """A service that listens in the folder of the program, where it can be found."""
    path = str(Path(folder, "service"))
    with socket.socket(socket.AF_UNIX) as listening, socket.socket(socket.AF_UNIX) as abstract:
        listening.bind(path)
        open_to_programs(path)
        listening.listen()
        abstract.bind("\0polylsp" + path)
        abstract.listen()
        yield path


# --- Sockets -----------------------------------------------------------------------------------

CONNECT = """int s = socket(AF_UNIX, {kind}, 0); if (s < 0) return s;
    struct sockaddr_un a = {{.sun_family = AF_UNIX}}; strcpy(a.sun_path + {abstract}, "{path}");
    return connect(s, (void *)&a, sizeof(sa_family_t) + {abstract} + strlen(a.sun_path + {abstract}));"""


@pytest.mark.usefixtures("separation")
@pytest.mark.parametrize("on_device", [False, True])
@pytest.mark.parametrize("abstract", [0, 1])
def test_no_local_socket_is_reached(in_c: Trying, service: str, abstract: int, on_device: bool) -> None:
    path = f"polylsp{service}" if abstract else service
    body = CONNECT.format(kind="SOCK_STREAM", path=path, abstract=abstract)
    assert in_c(body, replace(LIMITS, on_device=on_device)) == REFUSED


def test_the_service_answers_who_is_not_confined(service: str) -> None:
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(service)


@pytest.mark.usefixtures("separation")
@pytest.mark.parametrize(
    "body",
    [
        "return socket(AF_UNIX, SOCK_DGRAM, 0);",
        "return socket(AF_INET, SOCK_DGRAM, 0);",
        "return socket(AF_INET6, SOCK_STREAM, 0);",
        "return socket(AF_NETLINK, SOCK_RAW, 0);",
        "int p[2]; return socketpair(AF_UNIX, SOCK_DGRAM, 0, p);",
        "int p[2]; return socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, p);",
        "int p[2]; return socketpair(AF_UNIX, SOCK_SEQPACKET, 0, p);",
    ],
)
@pytest.mark.parametrize("on_device", [False, True])
def test_no_socket_is_made_that_sends_elsewhere(in_c: Trying, body: str, on_device: bool) -> None:
    assert in_c(body, replace(LIMITS, on_device=on_device)) == REFUSED


def test_the_driver_of_a_device_listens(in_c: Trying) -> None:
    body = "int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0); return s < 0 ? s : listen(s, 1);"
    assert in_c("return socket(AF_UNIX, SOCK_SEQPACKET, 0);", replace(LIMITS, on_device=True)) == "allowed"
    assert in_c(body) == REFUSED


def test_python_reaches_no_service(in_python: Trying, service: str) -> None:
    assert in_python(f"import socket; socket.socket(socket.AF_UNIX).connect({service!r})") == REFUSED


# --- Files -------------------------------------------------------------------------------------

CHANGES = [
    "return chmod(outside, 0777);",
    "return fchmodat(AT_FDCWD, outside, 0777, 0);",
    "int f = open(outside, O_RDONLY); return f < 0 ? -1 : fchmod(f, 0777);",
    'int f = open(outside, O_RDONLY); return f < 0 ? -1 : syscall(452, f, "", 0777, 0x1000);',
    "return chown(outside, getuid(), getgid());",
    "return utime(outside, 0);",
    "int f = open(outside, O_RDONLY); return f < 0 ? -1 : futimens(f, 0);",
    'return setxattr(outside, "user.polylsp", "1", 1, 0);',
    'int f = open(outside, O_RDONLY); return f < 0 ? -1 : fsetxattr(f, "user.polylsp", "1", 1, 0);',
    'return removexattr(outside, "user.there") < 0 && errno != ENODATA ? -1 : errno == ENODATA ? -1 : 0;',
    "int f = open(outside, O_RDONLY); long flags = 0; return f < 0 ? -1 : ioctl(f, 0x40086602, &flags);",
    "return truncate(outside, 0);",
    "return open(outside, O_WRONLY);",
    "return unlink(outside);",
    'return link(outside, "here");',
    'return rename(outside, "here");',
]


@pytest.mark.usefixtures("separation")
@pytest.mark.parametrize("body", CHANGES)
def test_no_file_elsewhere_is_changed_in_any_way(in_c: Trying, outside: Path, body: str) -> None:
    before = outside.stat()
    assert in_c(body) == REFUSED
    after = outside.stat()
    assert (after.st_mode, after.st_mtime_ns, after.st_nlink) == (before.st_mode, before.st_mtime_ns, 1)
    assert outside.read_text() == "as it was" and os.listxattr(outside) == []


@pytest.mark.usefixtures("separation")
@pytest.mark.parametrize(
    "body",
    [
        "os.chmod(outside, 0o777)",
        "os.utime(outside)",
        "os.setxattr(outside, 'user.polylsp', b'1')",
        "open(outside, 'a')",
        "os.mkfifo(outside + '-pipe')",
    ],
)
def test_python_changes_no_file_elsewhere(in_python: Trying, body: str) -> None:
    assert in_python(body) == REFUSED


def test_what_is_shown_can_be_read_and_its_own_folder_changed(in_c: Trying, in_python: Trying) -> None:
    assert in_c("return open(outside, O_RDONLY);") == "allowed"
    assert in_c('creat("new", 0600); return chmod("new", 0755) + utime("new", 0);') == "allowed"
    assert (
        in_python("open(outside).read(); open('newer', 'w').close(); os.chmod('newer', 0o600)") == "allowed"
    )


# --- The view ----------------------------------------------------------------------------------

COUNT = """DIR *d = opendir("{}"); int n = 0; if (!d) return -1; for (struct dirent *e; e = readdir(d);)
    n += e->d_name[0] != '.' && {}; printf("%d ", n); return 0;"""


def test_temporary_files_of_others_are_not_seen(in_python: Trying, folder: str, outside: Path) -> None:
    seen = in_python("print(os.listdir('/run'), os.listdir('/tmp'), os.listdir('/var/tmp'))")
    assert re.match(r"\[\] \[[^]]*\] \[\]\nallowed$", seen), seen
    assert set(re.findall(r"'([^']*)'", seen)) <= {Path(folder).name, *(p.name for p in outside.parents)}


OPENED = """char path[64]; sprintf(path, "{}", (int)syscall(SYS_gettid));
    return open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);"""


@pytest.mark.usefixtures("separation")
def test_the_driver_of_a_device_names_its_threads(in_c: Trying) -> None:
    body = OPENED.format("/proc/self/task/%d/comm")
    assert in_c(body, replace(LIMITS, on_device=True)) == "allowed"
    assert in_c(body) == REFUSED


@pytest.mark.usefixtures("separation")
@pytest.mark.parametrize(
    "path", ["/proc/self/oom_score_adj", "/proc/1/comm", "/proc/1/task/1/comm", "/proc/sys/kernel/printk"]
)
def test_of_other_threads_and_of_the_system_it_changes_nothing(in_c: Trying, path: str) -> None:
    assert in_c(OPENED.format(path), replace(LIMITS, on_device=True)) == REFUSED


def test_processes_are_its_own(in_c: Trying) -> None:
    assert in_c(COUNT.format("/proc", "e->d_name[0] >= '1' && e->d_name[0] <= '9'")) == "2 allowed"
    assert in_c(f"return kill({os.getpid()}, 0);") == REFUSED


def test_without_namespaces_it_sends_no_signal(in_c: Trying, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "separate", lambda: False)
    body = f"return kill({os.getpid()}, 0);"
    assert in_c(body) == REFUSED


def test_devices_are_few(in_python: Trying) -> None:
    seen = in_python("print(*sorted(os.listdir('/dev')))").splitlines()[0].split()
    assert seen == ["fd", "full", "null", "random", "shm", "urandom", "zero"]


# --- Other system calls ------------------------------------------------------------------------


@pytest.mark.usefixtures("separation")
@pytest.mark.parametrize(
    "body",
    [
        "return syscall(SYS_io_uring_setup, 4, (char[256]){0});",
        "return syscall(SYS_clone3, (char[88]){0}, 88L);",
        "return syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);",
        "return unshare(CLONE_NEWUSER);",
        "return unshare(CLONE_NEWNS);",
        'return mount("none", "/mnt", "tmpfs", 0, 0);',
        'return umount2("/tmp", MNT_DETACH);',
        "return ptrace(PTRACE_TRACEME, 0, 0, 0);",
        "return syscall(SYS_keyctl, 0, -3, 0);",
        'return syscall(SYS_add_key, "user", "polylsp", "1", 1L, -3);',
        "return syscall(SYS_bpf, 0, (char[128]){0}, 128L);",
        "return syscall(SYS_perf_event_open, (char[128]){0}, 0, -1, -1, 0L);",
        "return syscall(463, 0, 0, 0, 0, 0);",
        "return syscall(100000);",
    ],
)
def test_the_machine_and_the_sandbox_are_out_of_reach(in_c: Trying, body: str) -> None:
    assert in_c(body) == REFUSED


@pytest.mark.skipif("sys.platform != 'linux' or os.uname().machine != 'x86_64'")
@pytest.mark.parametrize(
    "body",
    ["return syscall(0x40000000L + 39);", 'long r = 20; __asm__ volatile("int $0x80" : "+a"(r)); return r;'],
    ids=["x32", "32 bits"],
)
def test_calls_of_other_kinds_of_programs_end_it(in_c: Trying, body: str) -> None:
    assert in_c(body) == f"status {128 + 31}"


def test_the_numbers_of_system_calls_are_those_of_the_kernel() -> None:
    places = ("/usr/include/x86_64-linux-gnu/asm/unistd_64.h", "/usr/include/asm-generic/unistd.h")
    tables = (kernel.CONDITIONAL, kernel.REFUSED, kernel.ABSENT, kernel.ATTRIBUTES, kernel.SHARED_MEMORY)
    for column, place in enumerate(places):
        if not Path(place).exists():  # another machine's
            continue
        known = dict(re.findall(r"#define __NR_(\w+)\s+(\d+)", Path(place).read_text()))
        ours = {name: pair[column] for table in tables for name, pair in table.items()}
        newer = {
            name
            for name, number in ours.items()
            if number is not None and number > max(map(int, known.values()))
        }
        told = {name: None if number is None else str(number) for name, number in ours.items()}
        assert {n: known.get(n) for n in told if n not in newer} == {
            n: told[n] for n in told if n not in newer
        }


def test_each_machine_has_a_filter_and_others_have_none() -> None:
    for machine in ("x86_64", "aarch64"):
        made = kernel.call_filter(attributes=True, shared_memory=True, device=False, machine=machine)
        strict = kernel.call_filter(attributes=False, shared_memory=False, device=False, machine=machine)
        assert made is not None and strict is not None and len(made) < len(strict) < 4096 * 8
    assert kernel.call_filter(attributes=True, shared_memory=True, device=False, machine="riscv64") is None


# --- What works as ever ------------------------------------------------------------------------


@pytest.mark.usefixtures("separation")
def test_threads_of_openmp_and_pipes_between_processes_work(folder: str, tmp_path: Path) -> None:
    source = tmp_path / "given.c"
    source.write_text(
        f"{HEAD}#include <omp.h>\nint main(void) {{ int n = 0, p[2]; char c = 'x';\n"
        "#pragma omp parallel num_threads(4) reduction(+:n)\n"
        'n += 1;\nif (pipe(p)) return 1; if (!fork()) { write(p[1], "y", 1); _exit(0); }\n'
        'read(p[0], &c, 1); printf("%d%c", n, c); return 0; }\n'
    )
    program = Path(folder, "given")
    subprocess.run(["gcc", "-w", "-fopenmp", source, "-o", program], check=True)
    assert run([str(program)], folder, LIMITS, {}, 60.0).words == "4y"


def test_python_runs_loops_of_events_and_other_programs(in_python: Trying) -> None:
    assert in_python("import asyncio; asyncio.run(asyncio.sleep(0))") == "allowed"
    assert in_python("import subprocess; subprocess.run(['/bin/true'], check=True)") == "allowed"
    assert in_python("import threading; t = threading.Thread(target=print); t.start(); t.join()").endswith(
        "allowed"
    )


def test_a_compiler_makes_its_output_executable_and_reaches_no_service(folder: str, service: str) -> None:
    limits = replace(LIMITS, trusted=True)
    line = "echo x > made; chmod 755 made; test -x made && echo done"
    assert run(["/bin/sh", "-c", line], folder, limits, {"PATH": "/bin:/usr/bin"}, 60.0).words == "done\n"
    reach = f"import socket; socket.socket(socket.AF_UNIX).connect({service!r})"
    assert "not supported" in run([sys.executable, "-I", "-c", reach], folder, limits, {}, 60.0).words


# --- Reports on a system that isolates less -----------------------------------------------------


def missing(folder: str) -> set[str]:
    found = isolation(folder)
    return {each.name for each in fields(Isolation) if not getattr(found, each.name)}


def test_nothing_is_missing_here(folder: str) -> None:
    assert missing(folder) == set() and isolation(folder).missing == ()


@pytest.mark.parametrize(
    ("without", "expected"),
    [
        ({"separate"}, {"view"}),
        ({"install"}, {"sockets"}),
        ({"separate", "install"}, {"network", "sockets", "attributes", "view"}),
        (
            {"separate", "install", "landlock"},
            {"network", "sockets", "processes", "files", "attributes", "view"},
        ),
    ],
)
def test_what_a_system_does_not_give_is_found_by_trying(
    folder: str, monkeypatch: pytest.MonkeyPatch, without: set[str], expected: set[str]
) -> None:
    if "separate" in without:
        monkeypatch.setattr(kernel, "separate", lambda: False)
    if "install" in without:
        monkeypatch.setattr(confinement, "install", lambda _: False)
    if "landlock" in without:
        monkeypatch.setattr(kernel, "write_only_beneath", lambda *_, **__: False)
    # Root's processes get no signal of `nobody` anyway.
    expected -= {"processes"} if os.geteuid() == 0 else set()
    assert missing(folder) == expected
    assert len(isolation(folder).missing) == len(expected)
