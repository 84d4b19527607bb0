"""The OpenAPI 3.1 document, made of the same table as the routes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec

import offsettree
from offsettree.service.api import Operation

__all__ = ["document"]

PROBLEMS = {
    "400": "The body is not JSON.",
    "401": "A key is missing or wrong.",
    "403": "The page of another site asked.",
    "404": "There is no such loop, event or version.",
    "409": "The event id was used for another request.",
    "413": "The body or the batch is too large.",
    "422": "Something in the request is wrong; the message says what.",
    "503": "Nothing can be kept now, or too many call at once. Try again.",
}
PATTERNS = {"api": {"type": "string", "enum": ["v1.0", "v1.1-preview"]}, "version": {"type": "integer", "minimum": 1}}


def document(operations: Sequence[Operation]) -> dict[str, Any]:
    """Return the document."""
    bodies = list({each for operation in operations for each in (operation.takes, operation.gives) if each})
    (schemas, components) = msgspec.json.schema_components(bodies, ref_template="#/components/schemas/{name}")
    schema_of = dict(zip(bodies, schemas, strict=True))
    _describe_raw(components)
    paths: dict[str, Any] = {}
    for operation in operations:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation, schema_of)
    problem = {
        "type": "object",
        "required": ["error"],
        "properties": {
            "error": {
                "type": "object",
                "required": ["code", "message"],
                "properties": {"code": {"type": "integer"}, "message": {"type": "string"}},
            }
        },
    }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "offsettree",
            "version": offsettree.__version__,
            "description": "Decisions with exact propensities, rewards that come late, policies that learn from both.",
        },
        "paths": paths,
        "components": {
            "schemas": components | {"Problem": problem},
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "personalizer": {"type": "apiKey", "in": "header", "name": "Ocp-Apim-Subscription-Key"},
            },
        },
    }


def _operation(operation: Operation, schema_of: dict[Any, Any]) -> dict[str, Any]:
    names = re.findall(r"\{(\w+)\}", operation.path)
    limits = {"type": "string", "minLength": 1, "maxLength": 128}
    parameters = [
        {"name": name, "in": "path", "required": True, "schema": PATTERNS.get(name, limits)} for name in names
    ]
    parameters += [
        {"name": name, "in": "query", "required": False, "description": text, "schema": {"type": "string"}}
        for name, text in operation.query.items()
    ]
    good = {"description": "Done."}
    if operation.gives is not None:
        good["content"] = {"application/json": {"schema": schema_of[operation.gives]}}  # type: ignore[assignment]
    elif operation.kind != "none":
        good["content"] = {operation.kind: {"schema": {}}}  # type: ignore[assignment]
    status = "204" if operation.kind == "none" else "201" if "rank" in operation.path else "200"
    found: dict[str, Any] = {
        "summary": operation.summary,
        "operationId": re.sub(r"\W+", "_", f"{operation.method.lower()}{operation.path}").strip("_"),
        "parameters": parameters,
        "responses": {status: good}
        | {
            code: {
                "description": text,
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
            }
            for code, text in PROBLEMS.items()
        },
    }
    if operation.path.endswith("/activate") and operation.gives is not None:
        found["responses"]["404"]["content"]["application/json"]["schema"] = {}
    if operation.role is not None:
        found["security"] = [{}, {"bearer": []}, {"personalizer": []}]
    if operation.takes is bytes:
        found["requestBody"] = {"required": True, "content": {"application/octet-stream": {"schema": {}}}}
    elif operation.takes is not None:
        body = {"application/json": {"schema": schema_of[operation.takes]}}
        found["requestBody"] = {"required": True, "content": body}
    return found


def _describe_raw(components: dict[str, Any]) -> None:
    """Say what the parts are that are read later: contexts and actions."""
    decide = components.get("DecideRequest")
    if decide is not None:
        action = {
            "anyOf": [
                {"type": "array", "items": {"type": "string", "minLength": 1}},
                {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "required": ["id"],
                        "properties": {"id": {"type": "string", "minLength": 1}, "features": {}},
                        "additionalProperties": False,
                    },
                },
                {"type": "null"},
            ]
        }
        decide["properties"]["context"] = {"type": "object", "default": {}}
        decide["properties"]["actions"] = action
