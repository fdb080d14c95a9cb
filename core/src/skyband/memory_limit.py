"""The memory limit of this process, where the system sets one: reported before and after memory runs out.

Libraries reserve a gigabyte of addresses before a row is read, most of it never used. Where the system refuses it,
they fail in different ways: an unrelated error, a dead process, or a hang in LLVM. So too low a limit is refused early.
"""

from skyband.errors import EngineError

LEAST = 1 << 30
"""Bytes of addresses below which no run of the local engine finished (Linux, x86-64, two cores)."""
AMPLE = 2 << 30
"""Bytes that are enough to compile kernels too."""
_ADVICE = "this limits addresses, not memory in use: lift it (ulimit -v unlimited), and limit a container or cgroup"


def address_limit() -> int | None:
    """Bytes of addresses that this process may use, as set by `ulimit -v`; None if there is no limit."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if limit == resource.RLIM_INFINITY else limit


def too_little() -> str | None:
    """A warning about what may fail; None if memory suffices. Raises EngineError if a run would certainly fail."""
    limit = address_limit()
    if limit is None or limit >= AMPLE:
        return None
    words = f"this process may use {_megabytes(limit)} of addresses (ulimit -v)"
    if limit < LEAST:
        raise EngineError(f"{words}, and its libraries alone need {_megabytes(LEAST)}: {_ADVICE}")
    return f"{words}: below {_megabytes(AMPLE)} compiling a kernel may hang or kill the process silently; {_ADVICE}"


def used_up(error: MemoryError) -> str:
    """The message for a lack of memory, with its remedy."""
    detail = " ".join(f"{type(error).__name__}: {error}".rstrip(": ").split())
    limit = address_limit()
    if limit is not None:
        return f"memory is used up ({detail}): this process may use {_megabytes(limit)} (ulimit -v); {_ADVICE}"
    return (
        f"memory is used up ({detail}): give the process more, make batches smaller (fewer rows in a file or "
        "message, maxFilesPerTrigger = 1), or ask for shorter windows"
    )


def suspicion() -> str:
    """A possible cause of an unexpected error, as a sentence; empty if memory is not limited."""
    limit = address_limit()
    if limit is None or limit >= AMPLE:
        return ""
    return f"This process may use only {_megabytes(limit)} of memory (ulimit -v), a possible cause: {_ADVICE}."


def _megabytes(size: int) -> str:
    return f"{size / (1 << 20):,.0f} MB"
