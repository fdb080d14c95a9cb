"""The description of the port in OpenAPI 3.1, from the parameters that requests are read with."""

from collections.abc import Sequence
from typing import Any

from skyband.version import __version__
from skyband_jobs.job.checked_job import CheckedJob

from skyband_serve.web.arrow_stream import MEDIA_TYPE
from skyband_serve.web.endpoint import Endpoint
from skyband_serve.web.query_string import GROUP, Option

_SCHEMAS: dict[str, dict[str, Any]] = {
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "bool": {"type": "boolean"},
    "list": {"type": ["number", "string"]},
    "range": {"type": "string", "examples": ["1,5", "-inf,5"]},
}
_ERROR = {"type": "object", "properties": {"error": {"type": "string"}}, "required": ["error"]}


def description(job: CheckedJob, endpoints: Sequence[Endpoint]) -> dict[str, Any]:
    """The paths, their parameters and replies."""
    token = {"type": "http", "scheme": "bearer"}
    return {
        "openapi": "3.1.0",
        "info": {"title": job.name, "version": __version__, "description": f"A {job.query.kind} that Skyband serves."},
        "paths": {endpoint.path: {"get": _operation(job, endpoint)} for endpoint in endpoints},
        "components": {"securitySchemes": {"token": token}, "schemas": {"error": _ERROR}},
        "security": [{}, {"token": []}],
    }


def _operation(job: CheckedJob, endpoint: Endpoint) -> dict[str, Any]:
    types = [endpoint.media_type, *([MEDIA_TYPE] if endpoint.arrow else [])]
    replies = {"200": {"description": "as asked", "content": {name: {} for name in types}}}
    failed = {400: "a parameter is wrong: which, and what it may be", **endpoint.statuses}
    refusal = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/error"}}}}
    replies |= {str(status): {"description": text, **refusal} for status, text in failed.items()}
    groups = [_group(name) for name in job.query.by] if endpoint.of_groups else []
    return {
        "operationId": endpoint.path.strip("/").partition(".")[0],
        "summary": endpoint.summary,
        "parameters": [*map(_parameter, endpoint.options()), *groups],
        "responses": replies,
    }


def _parameter(option: Option) -> dict[str, Any]:
    schema = _SCHEMAS.get(option.type, {"type": "string"})
    schema = {"type": "array", "items": schema} if option.several else schema
    return {"name": option.name, "in": "query", "description": option.help, "schema": schema}


def _group(column: str) -> dict[str, Any]:
    schema = {"type": "array", "items": {"type": "string"}}
    text = f"only groups with one of these values of {column}"
    return {"name": f"{GROUP}{column}", "in": "query", "description": text, "schema": schema}
