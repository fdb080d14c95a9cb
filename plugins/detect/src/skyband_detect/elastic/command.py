"""skyband elastic: makes rules for a job of detections of Elastic's threshold and new-terms rules."""

import json
from collections import Counter
from pathlib import Path

import click


@click.command(short_help="Make rules of Elastic's threshold and new-terms rules, for a job of detections.")
@click.argument("paths", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path), metavar="PATH...")
@click.option("--mapping", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE",
              help="TOML: [fields] with the column of each field.")  # fmt: skip
@click.option("--after", metavar="TIME", help="Until then rules about new terms learn, such as 2026-01-31T00:00:00Z.")
def command(paths: tuple[Path, ...], mapping: Path | None, after: str | None) -> None:
    """Make rules of Elastic's threshold and new-terms rules, as JSON on stdout.

    PATH is a file of TOML as in Elastic's repository of rules, of exported lines of JSON, or a folder of such. What
    cannot be said is refused, by file and key, and the exit status is then 1; the other rules are written. Rules of
    other types are left out and counted. A rule answers at the row that crosses its bound, over a window that slides;
    Elastic looks back whenever it runs. Text is compared in its own case. A field without an entry in --mapping is a
    column of its name.
    """
    from skyband_detect.elastic.documents import documents_of
    from skyband_detect.elastic.translation import KINDS, rule_of
    from skyband_detect.sigma.mapping import read_mapping
    from skyband_detect.sigma.refusals import RefusedError

    fields, documents = read_mapping(mapping, any_logsource=True), documents_of(paths)
    others = Counter(document.kind for document in documents if document.kind not in KINDS)
    rules, names, refused = [], set[str](), 0
    for document in (document for document in documents if document.kind in KINDS):
        try:
            translation = rule_of(document, fields, after)
            name = translation.rule["name"]
            if name in names:
                raise RefusedError("name", f"{name!r} is the name of another rule too")
        except RefusedError as error:
            refused += 1
            click.echo(f"{document.place}: {error}", err=True)
            continue
        names.add(name)
        rules.append(translation.rule)
        for note in translation.notes:
            click.echo(f"note: {document.place}: {note}", err=True)
    click.echo(json.dumps(rules, indent=2, ensure_ascii=False))
    counts = "".join(f", {count} of type {kind} left out" for kind, count in sorted(others.items()))
    click.echo(f"{len(rules)} rule{'' if len(rules) == 1 else 's'} made, {refused} refused{counts}", err=True)
    if refused:
        raise click.exceptions.Exit(1)
