"""How text files write times, days and decimals: ISO 8601 and 1234.5 unless Spark's options say otherwise."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from attrs import frozen
from skyband.errors import Problem

if TYPE_CHECKING:
    import pyarrow as pa

TIME_OPTIONS = ("timestampFormat", "dateFormat")
VALUE_OPTIONS = (*TIME_OPTIONS, "locale")

_SPACE, _NARROW = "\u00a0", "\u202f"
LOCALES = {
    **dict.fromkeys(("en", "en-US", "en-GB", "en-IN", "ja-JP", "ko-KR", "zh-CN"), (",", ".")),
    **dict.fromkeys(("de", "de-DE", "es", "es-ES", "id-ID", "it", "it-IT", "nl", "nl-NL", "pt-BR"), (".", ",")),
    **dict.fromkeys(("fr", "fr-FR"), (_NARROW, ",")),
    **dict.fromkeys(("cs-CZ", "fi-FI", "pl-PL", "ru-RU", "sv-SE", "uk-UA"), (_SPACE, ",")),
    **dict.fromkeys(("da-DK", "tr-TR"), (".", ",")),
    "de-CH": ("’", "."),
}
"""The thousands and decimal separators of Java's locales."""


@frozen
class ValueFormats:
    """Patterns of Java's DateTimeFormatter, None for ISO 8601, and the separators in decimals."""

    timestamp: str | None = None
    date: str | None = None
    locale: str = "en-US"
    place: str = ""
    """Where to set options that could help; empty where none can."""

    @property
    def marks(self) -> tuple[str, str]:
        """The separators of thousands, and of decimals."""
        return LOCALES[self.locale]

    def is_text(self, kind: "pa.DataType") -> bool:
        """Whether Arrow's readers would read the type differently, so that its values are read as text."""
        import pyarrow as pa

        return pa.types.is_temporal(kind) or pa.types.is_decimal(kind)


PLAIN = ValueFormats()


def formats_of(options: Mapping[str, str]) -> ValueFormats:
    """The formats set by options, with names in lower case."""
    locale = options.get("locale", PLAIN.locale).replace("_", "-")
    return ValueFormats(options.get("timestampformat"), options.get("dateformat"), locale, "source.options")


def format_problems(options: Mapping[str, Any]) -> list[Problem]:
    """Patterns and locales that only Spark knows."""
    from skyband_expressions.syntax import UnknownExpressionError
    from skyband_expressions.time_formats import formatted

    problems = []
    for name, value in options.items():
        if name.lower() in map(str.lower, TIME_OPTIONS):
            try:
                formatted(str(value))
            except UnknownExpressionError as error:
                message = f"{str(error).removeprefix('to_timestamp: ')}; it knows patterns such as MM/dd/yyyy HH:mm:ss"
                problems.append(Problem(f"options.{name}", f"the local engine: {message}"))
        elif name.lower() == "locale" and str(value).replace("_", "-") not in LOCALES:
            message = f"the local engine knows {', '.join(LOCALES)} (got {value!r})"
            problems.append(Problem(f"options.{name}", message))
    return problems
