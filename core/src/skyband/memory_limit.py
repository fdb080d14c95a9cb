"""What this process may use of memory, where the system limits that: said before and after it was too little.

Libraries take a gigabyte of addresses before a row is read, most of it never used. Where they get none they end as they
please: with an error of another kind, or the process, and LLVM may hang. So too low a limit is refused at once.
"""

from skyband.errors import EngineError

LEAST = 1 << 30
"""Bytes of addresses below which no run of the local engine came to its end (Linux, x86-64, two cores)."""
AMPLE = 2 << 30
"""Bytes with which kernels can be compiled as well."""
_ADVICE = "this limits addresses, not memory in use: lift it (ulimit -v unlimited), and limit a container or cgroup"


def address_limit() -> int | None:
    """Bytes of addresses that this process may take, as `ulimit -v` sets; None where there is no limit."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if limit == resource.RLIM_INFINITY else limit


def too_little() -> str | None:
    """What may go wrong before a row is read, for a warning; None where nothing will.

    Raises EngineError where something certainly will.
    """
    limit = address_limit()
    if limit is None or limit >= AMPLE:
        return None
    words = f"this process may take {_megabytes(limit)} of addresses (ulimit -v)"
    if limit < LEAST:
        raise EngineError(f"{words}, and its libraries alone take {_megabytes(LEAST)}: {_ADVICE}")
    return f"{words}: below {_megabytes(AMPLE)} compiling a kernel may hang or end it without a word; {_ADVICE}"


def used_up(error: MemoryError) -> str:
    """What is told of a lack of memory, with its remedy."""
    detail = " ".join(f"{type(error).__name__}: {error}".rstrip(": ").split())
    limit = address_limit()
    if limit is not None:
        return f"memory is used up ({detail}): this process may take {_megabytes(limit)} (ulimit -v); {_ADVICE}"
    return (
        f"memory is used up ({detail}): give the process more, take less into one batch (fewer rows in a file or "
        "message, maxFilesPerTrigger = 1), or ask for shorter windows"
    )


def suspicion() -> str:
    """What may be behind an error that nobody foresaw, as a sentence; empty where memory is not limited."""
    limit = address_limit()
    if limit is None or limit >= AMPLE:
        return ""
    return f"This process may take {_megabytes(limit)} of memory only (ulimit -v), which may be why: {_ADVICE}."


def _megabytes(size: int) -> str:
    return f"{size / (1 << 20):,.0f} MB"
