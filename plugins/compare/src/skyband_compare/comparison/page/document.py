"""Writes a comparison as one HTML page that opens without a network: highlights, charts and all figures."""

from collections.abc import Callable, Sequence
from html import escape
from importlib.resources import files

from skyband_compare.comparison import number_format
from skyband_compare.comparison.page.pictures import Picture, pictures, working
from skyband_compare.comparison.results import Case, Comparison, Entry, most
from skyband_compare.comparison.table import cells, explained, headers

COLOURS = 8
"""The number of distinct series colours, which the page's style defines."""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def page(comparison: Comparison) -> str:
    """HTML with inline style and charts, and a policy that keeps browsers from loading anything else."""
    colours = _colours(comparison)
    title = f"{comparison.role}: {len(colours)} backends side by side"
    style = files("skyband_compare.comparison.page").joinpath("page.css").read_text("utf-8")
    body = [
        f"<header><p class=eyebrow>skyband {comparison.command}</p><h1>{escape(title)}</h1>",
        f"<p class=subject>{escape(comparison.subject)}</p>{_legend(comparison, colours)}</header><main>",
        _failures(comparison.cases),
        _tiles(comparison.cases[-1], len(comparison.cases) > 1),
        _figures(pictures(comparison, colours)),
        *(_table(case, colours) for case in comparison.cases),
        f"</main>{_footer(comparison)}",
    ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f"<title>{escape(title)}</title><style>{style}</style></head>\n<body>{''.join(body)}</body></html>\n"
    )


def _colours(comparison: Comparison) -> dict[str, str]:
    """The colour of each backend; the reference is grey."""
    colours: dict[str, str] = {}
    for case in comparison.cases:
        for entry in case.entries:
            if entry.label not in colours:
                used = sum("--s" in colour for colour in colours.values())
                colours[entry.label] = "var(--reference)" if entry.is_reference else f"var(--s{used % COLOURS + 1})"
    return colours


def _legend(comparison: Comparison, colours: dict[str, str]) -> str:
    right = comparison.cases[0].reference.label
    chips = [
        f'<li style="--c:{colour}"><i></i>{escape(name)}{" <small>reference</small>" if name == right else ""}</li>'
        for name, colour in colours.items()
    ]
    return f'<ul class="legend" aria-label="Backends">{"".join(chips)}</ul>'


def _failures(cases: Sequence[Case]) -> str:
    failed = [entry.label for case in cases for entry in case.entries if entry.measured.failed is not None]
    names = ", ".join(f"<b>{escape(label)}</b>" for label in dict.fromkeys(failed))
    were = "was" if len(set(failed)) == 1 else "were"
    where = "the table says why" if len(cases) == 1 else "the tables say where and why"
    return f'<p class="failed">{names} {were} not measured; {where}.</p>' if failed else ""


def _tiles(case: Case, one_of_many: bool) -> str:
    """The fastest, smallest and closest backends, in the last case if there are several."""
    entries = working(case)
    if not entries:
        return ""
    right = case.reference if case.reference in entries else None
    fast = max(entries, key=lambda entry: entry.measured.rate)
    small = min(entries, key=lambda entry: most(entry.measured.nbytes))
    tiles = [
        _tile("Fastest", fast.label, f"{number_format.rate(fast.measured.rate)} rows/s", _against(
            right, fast, lambda entry: entry.measured.rate, "the rate of")),
        _tile("Smallest", small.label, number_format.size(most(small.measured.nbytes)), _against(
            right, small, lambda entry: 1 / max(most(entry.measured.nbytes), 1), "smaller than")),
        _closest(case, entries),
    ]  # fmt: skip
    where = f"<p class=where>With {escape(case.title)}</p>" if one_of_many else ""
    return f'{where}<section class="tiles">{"".join(tiles)}</section>'


def _against(right: Entry | None, entry: Entry, figure: Callable[[Entry], float], words: str) -> str:
    if right is None or right is entry:
        return ""
    return f"{number_format.times(figure(entry) / figure(right))} {words} {right.label}"


def _closest(case: Case, entries: Sequence[Entry]) -> str:
    others = [entry for entry in entries if entry.accuracy is not None and not entry.is_reference]
    if not others:
        return ""
    if all(entry.accuracy is not None and entry.accuracy.equal == 1.0 for entry in others):
        caption = f"every row equals {case.reference.label}’s, to the last bit"
        stopped = [entry.label for entry in case.entries if entry.measured.stopped]
        if stopped:
            return _tile(
                "Answers", "the same so far", "", f"{caption}, up to where {' and '.join(stopped)} was stopped"
            )
        return _tile("Answers", "all the same", "", caption)
    best = min(others, key=lambda entry: entry.accuracy.error if entry.accuracy else 0.0)
    if best.accuracy is None:
        return ""
    equal = best.accuracy.equal == 1.0
    figure = "the same rows" if equal else number_format.share(best.accuracy.error)
    return _tile(f"Closest to {case.reference.label}", best.label, figure, best.accuracy.measure)


def _tile(what: str, who: str, value: str, beside: str) -> str:
    strong = f"<strong>{escape(who)}</strong>"
    return f"<div><p>{escape(what)}</p>{strong}<b>{escape(value)}</b><small>{escape(beside)}</small></div>"


def _figures(made: Sequence[Picture]) -> str:
    each = [
        f"<figure><figcaption><h2>{escape(picture.title)}</h2><p>{escape(picture.told)}</p></figcaption>"
        f"{picture.svg}</figure>"
        for picture in made
    ]
    return f'<section class="pictures">{"".join(each)}</section>' if each else ""


def _table(case: Case, colours: dict[str, str]) -> str:
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in headers(case))
    rows = []
    for entry in case.entries:
        first, *rest = cells(case, entry)
        failed = entry.measured.failed
        others = "".join(f"<td>{escape(cell)}</td>" for cell in rest)
        if failed is not None:
            others = f'<td class="cause" colspan="{len(rest)}"><div>failed: {escape(failed)}</div></td>'
        kind = "" if failed is None else ' class="failed"'
        mark = f'<th scope="row" style="--c:{colours[entry.label]}"><i></i>{escape(first)}</th>'
        rows.append(f"<tr{kind}>{mark}{others}</tr>")
    return (
        f'<section class="table"><h2>{escape(case.title)}</h2><div class="scroll" tabindex="0"><table><thead><tr>{head}'
        f"</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
        f"<p>{escape('; '.join(explained(case)))}</p></section>"
    )


def _footer(comparison: Comparison) -> str:
    origin = comparison.provenance
    versions = {"skyband": origin["skyband"], **origin["distributions"], **origin["libraries"]}
    facts = [
        ("Command", f"<code>{escape(origin['command'])}</code>"),
        ("Measured", escape(origin["date"])),
        ("Machine", escape(origin["machine"])),
        ("Python", escape(origin["python"])),
        ("Versions", escape(", ".join(f"{name} {version}" for name, version in versions.items()))),
    ]
    items = "".join(f"<dt>{name}</dt><dd>{value}</dd>" for name, value in facts)
    return f"<footer><dl>{items}</dl></footer>"
