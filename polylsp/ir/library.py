"""Effects of library functions that forbid other orders of the iterations which call them, in C and in
Python, with advice about each."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

LibraryEffect = Literal[
    "output",
    "input",
    "hidden-state",
    "allocation",
    "release",
    "clock",
    "termination",
    "jump",
    "memory-copy",
    "lock",
    "thread",
]

_C: dict[LibraryEffect, str] = {
    "output": (
        "printf fprintf vprintf vfprintf dprintf puts fputs putchar putc fputc putw putchar_unlocked "
        "putc_unlocked fwrite fwrite_unlocked perror fflush write pwrite writev send sendto syslog "
        "wprintf fwprintf putwchar fputwc fputws"
    ),
    "input": (
        "scanf fscanf vscanf vfscanf gets fgets getchar getc fgetc getchar_unlocked getc_unlocked "
        "getline getdelim fread fread_unlocked read pread readv recv recvfrom ungetc fseek fseeko "
        "ftell rewind fopen fclose open close wscanf getwchar fgetws"
    ),
    "hidden-state": (
        "rand srand random srandom initstate setstate drand48 lrand48 mrand48 erand48 nrand48 jrand48 "
        "srand48 seed48 lcong48 random_r strtok strtok_r strerror localtime gmtime ctime "
        "asctime setlocale getenv setenv putenv unsetenv tmpnam tempnam mkstemp readdir getpwnam "
        "getpwuid gethostbyname basename dirname hsearch hcreate mblen mbtowc wctomb signal raise "
        "atexit getopt getopt_long"
    ),
    "allocation": (
        "malloc calloc realloc reallocarray aligned_alloc memalign posix_memalign valloc pvalloc "
        "alloca strdup strndup asprintf vasprintf mmap _mm_malloc"
    ),
    "release": "free cfree munmap _mm_free",
    "clock": (
        "time clock gettimeofday clock_gettime clock_getres times getrusage omp_get_wtime MPI_Wtime "
        "nanosleep usleep sleep"
    ),
    "termination": "exit _exit _Exit quick_exit abort __builtin_trap __assert_fail",
    "jump": "longjmp siglongjmp pthread_exit thrd_exit",
    "memory-copy": (
        "memcpy memmove mempcpy memset memccpy bcopy bzero strcpy strncpy stpcpy strcat strncat "
        "sprintf snprintf vsprintf vsnprintf sscanf qsort wmemcpy wmemset"
    ),
    "lock": (
        "pthread_mutex_lock pthread_mutex_unlock pthread_mutex_trylock pthread_spin_lock "
        "pthread_spin_unlock pthread_rwlock_rdlock pthread_rwlock_wrlock pthread_rwlock_unlock "
        "pthread_cond_wait pthread_cond_signal pthread_barrier_wait omp_set_lock omp_unset_lock "
        "omp_test_lock omp_set_nest_lock omp_unset_nest_lock sem_wait sem_post mtx_lock mtx_unlock"
    ),
    "thread": (
        "omp_get_thread_num omp_get_num_threads omp_get_max_threads omp_in_parallel omp_get_level "
        "omp_get_team_num omp_get_num_teams omp_get_team_size omp_is_initial_device pthread_self"
    ),
}
_EFFECTS: dict[str, LibraryEffect] = {name: effect for effect, names in _C.items() for name in names.split()}

UNORDERED = frozenset(
    "printf fprintf vprintf puts putchar fputs fputc putc perror rand random drand48 lrand48 mrand48 srand "  # noqa: SIM905
    "srandom srand48 clock usleep sleep omp_get_thread_num omp_get_num_threads omp_get_max_threads "
    "omp_get_num_procs omp_get_wtime omp_get_wtick omp_in_parallel omp_get_level omp_get_team_size "
    "omp_get_num_teams omp_get_team_num omp_set_num_threads omp_is_initial_device omp_set_nested "
    "omp_set_dynamic omp_set_max_active_levels omp_get_num_devices omp_get_default_device fflush free".split()
)
"""Functions that keep no order among threads, write no memory through their arguments, and return. The state
that some of them have (a generator's) stays consistent by the library."""

THREAD_NUMBER, TEAM_SIZE = "omp_get_thread_num", "omp_get_num_threads"

ALLOCATING = frozenset(("malloc", "calloc"))
"""Functions that keep no order among threads either, and return memory that nothing else names."""

RELEASING = "free"
"""The function that takes such memory back."""

UNLOCKED_BY = {"omp_set_lock": "omp_unset_lock", "omp_set_nest_lock": "omp_unset_nest_lock"}
"""The functions that wait for a lock, with those that release it."""

LOCK_LIFE = frozenset(
    "omp_init_lock omp_destroy_lock omp_init_nest_lock omp_destroy_nest_lock".split()  # noqa: SIM905
)
"""The functions that make locks, and release what they take."""

LOCK_CALLS = frozenset((*UNLOCKED_BY, *UNLOCKED_BY.values(), *LOCK_LIFE))

_SEQUENCES = frozenset(
    "rand random drand48 lrand48 mrand48 strtok readdir getopt getopt_long".split()  # noqa: SIM905
)
"""Functions whose calls each go on from the state that the one before left."""

_STREAM_FIRST = frozenset(
    "fprintf vfprintf dprintf fscanf vfscanf write writev read readv getc fgetc getc_unlocked".split()  # noqa: SIM905
)
_STREAM_LAST = frozenset(
    "fputs fputc putc putw putc_unlocked fwrite fwrite_unlocked fgets fread fread_unlocked getline".split()  # noqa: SIM905
)
_STANDARD_STREAM = frozenset(
    "printf vprintf puts putchar putchar_unlocked wprintf putwchar scanf vscanf gets getchar "  # noqa: SIM905
    "getchar_unlocked wscanf getwchar".split()
)

_MESSAGES = re.compile(
    r"MPI_(I|S|B|R|Is|Ib|Ir)?send|MPI_I?(recv|probe|bcast|reduce|allreduce|barrier|gatherv?|allgatherv?|"
    r"scatterv?|alltoall[vw]?|scan|exscan|reduce_scatter)|MPI_(Recv|Sendrecv|Sendrecv_replace|Probe|Bcast|"
    r"Reduce|Allreduce|Barrier|Gatherv?|Allgatherv?|Scatterv?|Alltoall[vw]?|Scan|Exscan|Reduce_scatter|"
    r"Wait|Waitall|Waitany|Waitsome|Test|Testall|Testany|Testsome|Start|Startall|Send)"
)

_REENTRANT = {
    "strtok": "strtok_r", "strerror": "strerror_r", "localtime": "localtime_r", "gmtime": "gmtime_r",
    "ctime": "ctime_r", "asctime": "asctime_r",
}  # fmt: skip
_GENERATORS = {
    "rand": "rand_r", "random": "random_r", "drand48": "erand48", "lrand48": "nrand48", "mrand48": "jrand48",
    "srand": "rand_r", "srandom": "random_r", "srand48": "erand48", "seed48": "erand48", "lcong48": "erand48",
}  # fmt: skip
_STATE_OF_CALLER = frozenset(("random_r", "erand48", "nrand48", "jrand48", "strtok_r"))

_PYTHON: tuple[tuple[str, LibraryEffect], ...] = (
    ("print", "output"),
    ("sys.stdout.", "output"),
    ("sys.stderr.", "output"),
    ("logging.", "output"),
    ("warnings.warn", "output"),
    ("matplotlib.pyplot.", "output"),
    ("input", "input"),
    ("open", "input"),
    ("sys.stdin.", "input"),
    ("random.", "hidden-state"),
    ("numpy.random.", "hidden-state"),
    ("secrets.", "hidden-state"),
    ("next", "hidden-state"),
    ("time.", "clock"),
    ("datetime.", "clock"),
    ("exit", "termination"),
    ("quit", "termination"),
    ("sys.exit", "termination"),
)
_NOT_MODELLED = ("numpy.", "scipy.", "math.", "cmath.", "numba.")
_GROWING = frozenset(("append", "extend", "insert", "add", "appendleft"))
_SHRINKING = frozenset(("pop", "popleft", "remove", "discard", "popitem"))


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Reason why a call keeps iterations in order, with advice."""

    reason: str
    advice: str = ""


BORROWING: frozenset[LibraryEffect] = frozenset(
    ("output", "input", "release", "clock", "memory-copy", "lock", "thread")
)
"""Effects of functions that keep no address that they are given after they have returned."""


def effect_of(function: str) -> LibraryEffect | None:
    """Effect of a function of the C library, by its plain or gcc builtin name; `None` if it has none."""
    return _EFFECTS.get(function.removeprefix("__builtin_"))


@dataclass(frozen=True, slots=True)
class Ordered:
    """Order among the calls of a function: all of them, or (`stream`) those with one value of that argument,
    counted from the end if negative. `prints`: two calls that print the same text commute."""

    stream: int | None = None
    prints: bool = False


def order_of(function: str) -> Ordered | None:
    """Order in which any two calls of a function of the C library or of MPI have to run; `None` where it
    depends on the arguments, or there is none."""
    name = function.removeprefix("__builtin_")
    prints = effect_of(name) == "output"
    if name in _STREAM_FIRST:
        return Ordered(0, prints)
    if name in _STREAM_LAST:
        return Ordered(-1, prints)
    if name in _STANDARD_STREAM:
        return Ordered(None, prints)
    return Ordered() if name in _SEQUENCES or _MESSAGES.fullmatch(name) is not None else None


_PYTHON_PRINTING = ("sys.stdout.", "sys.stderr.", "logging.")
_PYTHON_STATEFUL = ("numpy.random.", "random.", "matplotlib.pyplot.")
_PYTHON_STATELESS = frozenset(("seed", "default_rng", "RandomState", "Generator", "SeedSequence", "Random"))


def python_order_of(path: str) -> Ordered | None:
    """Order in which any two calls of a function of a Python module have to run, as `order_of`."""
    if path.startswith(_PYTHON_PRINTING):
        return Ordered(prints=True)
    is_stateful = path.startswith(_PYTHON_STATEFUL) and path.rpartition(".")[2] not in _PYTHON_STATELESS
    return Ordered() if is_stateful else None


def call_obstacle(function: str) -> Obstacle | None:
    """Reason why a call of a C library function orders iterations; `None` if the function has no such
    effect."""
    name = function.removeprefix("__builtin_")
    effect = effect_of(name)
    if effect == "hidden-state":
        return _of_state(name)
    if name.startswith("MPI_") and effect is None:
        # No entry of the table: a project may define such a function itself, for runs without MPI.
        return Obstacle(f"`{name}` communicates with other processes", "move it out of the loop")
    return _sentence(name, effect, "C") if effect is not None else None


PYTHON_GENERATORS = frozenset(
    ("numpy.random.default_rng", "numpy.random.RandomState", "numpy.random.Generator", "random.Random")
)
"""Functions and classes of Python's libraries that make a generator of random numbers."""


def generator_obstacle(text: str) -> Obstacle:
    """Reason why the calls of a method of a generator of random numbers keep iterations in order."""
    advice = "draw the numbers before the loop, or use a generator for each iteration"
    return Obstacle(f"`{text}` draws the next numbers of a sequence", advice)


def python_call_obstacle(path: str, text: str) -> Obstacle | None:
    """Reason why a call in Python keeps iterations in order, or is not modelled, given the `path` of the
    function (`numpy.random.rand`; empty where it is none of a module) and its `text`; `None` where neither
    applies."""
    name = path or (text if text.isidentifier() else "")
    if path in PYTHON_GENERATORS:
        return Obstacle(f"making a generator of random numbers (`{text}`) is not analysed")
    for start, effect in _PYTHON:
        if name == start or (start.endswith(".") and name.startswith(start)):
            return _sentence(text, effect, "Python")
    if path.startswith(_NOT_MODELLED):
        return Obstacle(f"`{text}` is not supported yet")
    receiver, _, method = text.rpartition(".")
    if path or not receiver:
        return None
    if method in _GROWING:
        advice = (
            f"fill `{receiver} = np.empty(n)` by index"
            if receiver.isidentifier()
            else "fill an array by index"
        )
        return Obstacle("appending depends on order", advice)
    if method in _SHRINKING:
        return Obstacle(
            f"`{text}` changes the collection for the iterations that follow", "use indices instead"
        )
    return None


def _of_state(name: str) -> Obstacle:
    if name in _STATE_OF_CALLER:
        return Obstacle(f"`{name}` changes the state that it is given", "use one state per thread")
    if name in _GENERATORS:
        return Obstacle(f"`{name}` has hidden state", f"use one generator per thread (`{_GENERATORS[name]}`)")
    if name in _REENTRANT:
        return Obstacle(f"`{name}` has hidden state", f"use `{_REENTRANT[name]}`")
    return Obstacle(f"`{name}` has hidden state", "call it outside of the loop")


def _sentence(name: str, effect: LibraryEffect, language: Literal["C", "Python"]) -> Obstacle:
    match effect:
        case "output":
            return Obstacle(f"`{name}` must keep its order", "move output out of the loop")
        case "input":
            return Obstacle(f"`{name}` must keep its order", "move input out of the loop")
        case "hidden-state":
            advice = (
                "draw the numbers before the loop" if language == "Python" else "call it outside of the loop"
            )
            return Obstacle(f"`{name}` has hidden state", advice)
        case "allocation":
            return Obstacle("allocation in the loop", "allocate before it")
        case "release":
            return Obstacle(f"`{name}` in the loop", "release the memory after it")
        case "clock":
            return Obstacle(f"`{name}` reads the clock", "read it outside of the loop")
        case "termination":
            return Obstacle(
                f"`{name}` ends the program in an iteration", "remember the error and end after the loop"
            )
        case "jump":
            return Obstacle(f"`{name}` leaves the loop", "leave it with `break` or a flag")
        case "memory-copy":
            copies = name.startswith(("mem", "wmem", "bcopy", "bzero"))
            advice = "write it as a loop over elements" if copies else ""
            return Obstacle(f"`{name}` is not modelled", advice)
        case "thread":
            return Obstacle(f"`{name}` depends on the thread that runs it", "call it outside of the loop")
        case "lock":
            return Obstacle(f"`{name}` orders threads", "use a reduction or an atomic update instead")
