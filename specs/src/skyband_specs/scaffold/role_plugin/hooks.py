"""The role of this distribution and its default backend; imported to list them, so it imports neither."""

from skyband import BackendInfo, RoleInfo, hookimpl


@hookimpl
def skyband_roles() -> list[RoleInfo]:
    """The roles."""
    return [
        RoleInfo(
            name="mine",
            interface="skyband_specs.scaffold.role_plugin.role:MineRole",
            default="plain",
            distribution="skyband-mine",
            summary="the mean of whole numbers since any moment",
            conformance="skyband_specs.scaffold.role_plugin.conformance",
            api=1,
        ),
    ]


@hookimpl
def skyband_backends() -> list[BackendInfo]:
    """The backends."""
    return [
        BackendInfo(
            role="mine",
            name="plain",
            factory="skyband_specs.scaffold.role_plugin.plain:Plain",
            summary="every row",
            guarantee="exact",
            reference="the definition",
            api=1,
            lacks={
                "merge": "no query of this role merges backends",
                "out-of-order": "rows that are too old are dropped as time advances",
            },
        ),
    ]
