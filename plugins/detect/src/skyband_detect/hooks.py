"""The hooks of skyband-detect, imported by discovery, and so without any backend."""

from typing import TYPE_CHECKING

from skyband import BackendInfo, QueryInfo, RoleInfo, hookimpl

if TYPE_CHECKING:
    import click


@hookimpl
def skyband_backends() -> list[BackendInfo]:
    """The key-counters and key-totals."""
    return [
        BackendInfo(
            role="key-counter",
            name="newest",
            factory="skyband_detect.newest.backend:Newest",
            summary="the newest times of each key, one more than the largest bound, whatever the rate",
            guarantee="exact",
            reference="the definition; a k-skyband by time: Papadias, Tao, Fu and Seeger 2005, section 6",
            lacks={"out-of-order": "a row crosses a bound when it arrives"},
        ),
        BackendInfo(
            role="key-total",
            name="window",
            factory="skyband_detect.window_totals.backend:Window",
            summary="all values of the window by key, with running totals",
            guarantee="exact",
            reference="by definition",
            lacks={"out-of-order": "a bound is reached when a row arrives"},
        ),
    ]


@hookimpl
def skyband_roles() -> list[RoleInfo]:
    """The roles of the query detections."""
    return [
        RoleInfo(
            name="key-counter",
            interface="skyband_detect.role:KeyCounter",
            default="newest",
            distribution="skyband-detect",
            summary="which rows bring the rows or distinct values of their key to a bound",
            conformance="skyband_detect.conformance",
            capabilities=("below",),
        ),
        RoleInfo(
            name="key-total",
            interface="skyband_detect.total_role:KeyTotal",
            default="window",
            distribution="skyband-detect",
            summary="when the sum, mean or a quantile of a key's values reaches a bound",
            conformance="skyband_detect.totals.conformance",
        ),
    ]


@hookimpl
def skyband_queries() -> list[QueryInfo]:
    """The query detections."""
    return [
        QueryInfo(
            "detections",
            "skyband_detect.detections.query:Detections",
            "the rows at which a key reaches the bound of a rule, for hundreds of rules",
            examples="skyband_detect.detections.examples:EXAMPLES",
            presentation="skyband_detect.detections.presentation:DetectionsPresentation",
        )
    ]


@hookimpl
def skyband_commands(group: "click.Group") -> None:
    """The commands `skyband sigma` and `skyband elastic`."""
    from skyband_detect.elastic import command as elastic
    from skyband_detect.sigma import command as sigma

    group.add_command(sigma.command, "sigma")
    group.add_command(elastic.command, "elastic")
