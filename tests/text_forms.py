"""Random texts near the forms in which times and numbers are written: some right, most wrong by a character or two."""

import random

TIMES = [
    "2026-01-31", "2026-1-3", "2026-01", "2026", "2024-02-29 03", "2026-01-31 9:5", "2026-01-31T09:30:00",
    "2026-01-31 09:30:00.123456", "2026-01-31 09:30:5.1234567891", "2026-01-31T09:30:00Z", "2026-01-31 09:30:00 UTC",
    "2026-01-31 09:30:00+01:00", "2026-01-31 09:30:00 -1:30", "2026-01-31 09:30:00+0530", "2026-01-31 09:30:00GMT+2",
    "2026-01-31 09:30:00+01:02:03", "0001-01-01 00:00:00", "9999-12-31 23:59:59.999999", "+12026-01-31 10:00",
    "-0005-03-01", "294247-01-10 04:00:54.775807", "09:30", "T9", "2026-01-31 09:30:00 Europe/Berlin", "",
]  # fmt: skip
NUMBERS = [
    "0", "-1", "+5", "007", "127", "-128", "128", "32767", "2147483647", "-2147483649", "9223372036854775807",
    "-9223372036854775808", "9223372036854775808", "99999999999999999999", "1.5", "-.5", "5.", "1e3", "1E-3",
    "-1.25e+2", "1e400", "1e-400", "12d", "12f", "NaN", "nan", "Infinity", "-inf", "+INF", "0x10", "0x1p3", "1_000",
    "1,000", "1.005", "99999999.994", "99999999.995", "12345678.9", "null", "",
]  # fmt: skip
BOOLEANS = ["true", "FALSE", "tRuE", "t", "f", "Y", "n", "yes", "No", "1", "0", "on", ""]
_OF_TIMES = "0123456789-:. TZtz+UCuc/"
_OF_NUMBERS = "0123456789-+.eEdDfFxX ,nNaAiItTrR"


def texts_near(forms: list[str], seed: int, count: int) -> list[str]:
    """The forms, and as many more with up to two characters left out, put in, doubled or replaced, each once."""
    rng = random.Random(seed)
    letters = _OF_TIMES if forms is TIMES else _OF_NUMBERS
    texts = dict.fromkeys(forms)
    while len(texts) < count:
        text = rng.choice(forms)
        for _ in range(rng.randint(1, 2)):
            place = rng.randint(0, len(text))
            new = rng.choice(
                ["", rng.choice(letters), rng.choice(letters) + text[place : place + 1], text[place : place + 1] * 2]
            )
            text = text[:place] + new + text[place + 1 :]
        texts[text] = None
    return list(texts)
