"""The page of errors: the classes with their meanings, how a command ends, and examples."""

from importlib.resources import files

from skyband import errors

from skyband_specs.reference.backend import program_of
from skyband_specs.reference.markdown import code, docstring, fenced, line, page, prose, section, table
from skyband_specs.reference.run_examples import run_program


def errors_page() -> str:
    """The reference of errors."""
    lead, program = program_of(files("skyband_specs.reference.examples").joinpath("errors.py"))
    ran = run_program(program)
    message = f"It does not run with the installed packages: {line(ran.fault)}." if ran.fault else "It prints:"
    return page(
        "Errors",
        "What Skyband raises on purpose. All are a `SkybandError`, and survive pickling between processes.",
        table(["class", "is also a", "means"], [_row(cls) for cls in _classes()]),
        section("As they look", prose(lead), fenced("python", program), message, fenced("text", ran.output)),
        section(
            "In a shell",
            "A command reports problems on stderr, without a traceback unless `--debug` is given: all problems of "
            "a job at once, each with the file or `--set` and the closest valid name. Its exit status is that of every "
            "[command](commands.md).",
        ),
    )


def _classes() -> list[type[Exception]]:
    classes = [value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, Exception)]
    return [cls for cls in classes if cls is not errors.SkybandError]


def _row(cls: type[Exception]) -> list[str]:
    builtin = [base.__name__ for base in cls.__bases__ if base is not errors.SkybandError]
    return [code(cls.__name__), ", ".join(map(code, builtin)), line(docstring(cls))]
