"""Hides secrets of a job, such as passwords, in everything that is shown or written.

One rule for errors, progress, summaries and pages: a value is secret if its key says so (`password`, `token`,
`s3.secret-access-key`, …), as are the password in a URL and the text after such a key. A job's secrets are collected
when it is read, so that they are hidden wherever they appear, including in messages of libraries.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import quote, unquote

from skyband.config.literals import is_huge

HIDDEN = "***"
_KEY = (
    r"passw|passphrase|pwd|secret|credential|jaas|signature|token(?!s|iz)"
    r"|(?:access|api|private|account|shared|encryption)[._-]?key"
)
_SECRET_KEY = re.compile(_KEY, re.IGNORECASE)
_PAIR = re.compile(
    rf"(?P<key>(?<![\w.-])(?=[\w.-]*?(?:{_KEY}))[\w.-]++(?:\s*=\s*|:(?=\S)|[\"']\s*[:=]\s*))"
    r"(?P<value>\"(?:[^\"\\]|\\.)*\"?|'[^']*'?|[^\s;&,)}\]\"']+)",
    re.IGNORECASE,
)
_URL = re.compile(r"(?P<key>(?<![\w+.-])[\w+.-]+://[^\s/@:'\"]*:)(?P<value>[^\s/'\"]+)(?=@)")
# Both match from the start of a word without backtracking: a long word would take quadratic time.
_FEWEST_LETTERS = 4
"""The fewest letters of a secret that is hidden everywhere; a shorter one, part of many words, only in quotes."""
_LONG = 24
"""The number of leading letters that identify a long secret that was cut."""
_PLAIN = ("true", "false", "none", "null")

_hidden_texts: set[str] = set()


def is_secret(key: str) -> bool:
    """Whether the value of this key is secret."""
    return _SECRET_KEY.search(key) is not None


def learn(tables: Mapping[str, Any]) -> None:
    """Hide the secrets of a job from now on. Keys of queries and backends have none."""
    for key, value in tables.items():
        if key.partition(".")[0] not in ("query", "backends"):
            _hidden_texts.update(_secrets(key, value))


def hide(secrets: Iterable[str]) -> None:
    """Hide these texts from now on, whatever their keys are."""
    _hidden_texts.update(secret for secret in secrets if secret.strip() and secret.lower() not in _PLAIN)


def without_passwords(text: str) -> str:
    """The text without passwords that its form reveals: the same in every process, so the result can be stored."""
    return _URL.sub(rf"\g<key>{HIDDEN}", _PAIR.sub(_hidden_pair, text))


def redact(text: str) -> str:
    """The text without secrets of the jobs that this process has read, and without anything that looks like one."""
    text = without_passwords(text)
    for secret in sorted(_hidden_texts, key=len, reverse=True):
        text = _without(text, secret)
    return text


def redacted_line(line: str, above: str = "") -> str:
    """A line of a file that could not be parsed; `above`: the key or table it may belong to."""
    key, equals, _ = line.partition("=")
    if is_secret(key) or is_secret(above):
        return f"{key.rstrip()} = {HIDDEN}" if equals else HIDDEN
    return redact(line)


def _hidden_pair(pair: re.Match[str]) -> str:
    quotes = pair["value"][0] if pair["value"][0] in "\"'" else ""
    return f"{pair['key']}{quotes}{HIDDEN}{quotes}"


def _secrets(key: str, value: Any, secret: bool = False) -> Iterator[str]:
    secret = secret or is_secret(key)
    if isinstance(value, Mapping):
        for name, entry in value.items():
            yield from _secrets(str(name), entry, secret)
    elif isinstance(value, list | tuple):
        for entry in value:
            yield from _secrets(key, entry, secret)
    elif isinstance(value, str):
        if secret and value.strip() and value.lower() not in _PLAIN:
            yield value
        for match in (*_PAIR.finditer(value), *_URL.finditer(value)):
            plain = match["value"].strip("\"'")
            yield from (word for word in {plain, unquote(plain)} if word)
    elif secret and isinstance(value, int | float) and not isinstance(value, bool) and not is_huge(value):
        yield str(value)


def _without(text: str, secret: str) -> str:
    if len(secret) < _FEWEST_LETTERS:
        return re.sub(rf"(?<=['\"]){re.escape(secret)}(?=['\"])", HIDDEN, text)
    for form in {secret, repr(secret)[1:-1], quote(secret, safe="")}:
        text = text.replace(form, HIDDEN)
        if len(form) > _LONG:
            text = re.sub(rf"{re.escape(form[:_LONG])}[^'\"\n]*", HIDDEN, text)
    return text
