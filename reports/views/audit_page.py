"""Audits as HTML: one self-contained page, and the parts of it that the report of results has too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from markupsafe import Markup

from reports.analysis import audits as statements
from reports.results import Json, Report
from reports.results.audits import AuditedLayerRecord, AuditRecord, LayerVerdict, SmallestRecord
from reports.views.html_data import array_payload, case_payload, compress_json, report_payload
from reports.views.template_environment import page_environment, read_asset, read_script

LIBRARY_FILES = ("vendor/preact/preact.umd.js", "vendor/preact/hooks.umd.js", "vendor/htm/htm.umd.js")
SCRIPT_NAMES = ("data", "numbers", "grid", "parts", "geometry", "window", "audits")
MAX_NAMED_LAYERS = 12
"""Number of layers that a statement links to."""
VERDICT_STATUS: Mapping[LayerVerdict, str] = {
    LayerVerdict.UNCHECKED: "fail",
    LayerVerdict.DIFFERS: "fail",
    LayerVerdict.UNSUPPORTED: "fail",
    LayerVerdict.EXPLAINED: "known",
    LayerVerdict.REWRITE: "rewrite",
    LayerVerdict.SAME: "pass",
}
"""The class of a verdict in the style sheet: that of the status with the same colour."""
VERDICT_SIGNS: Mapping[LayerVerdict, str] = {
    LayerVerdict.UNCHECKED: "?",
    LayerVerdict.DIFFERS: "✗",
    LayerVerdict.UNSUPPORTED: "–",
    LayerVerdict.EXPLAINED: "!",
    LayerVerdict.REWRITE: "↻",
    LayerVerdict.SAME: "✓",
}
VERDICT_MEANINGS: Mapping[LayerVerdict, str] = {
    LayerVerdict.UNCHECKED: "could not be checked",
    LayerVerdict.DIFFERS: "differs, not explained",
    LayerVerdict.UNSUPPORTED: "the target has no such layer",
    LayerVerdict.EXPLAINED: "differs for some inputs, as the ledger or a declared answer says",
    LayerVerdict.REWRITE: "agrees, but needs more than one call; conformance audit --fix prints it",
    LayerVerdict.SAME: "agrees for all inputs of the audit",
}


def render_audit_page(audit: AuditRecord, operators: Mapping[str, Json] = MappingProxyType({})) -> str:
    """Return an audit as one HTML file.

    operators: for each operator, the properties that the drawing of its windows depends on.
    """
    payload = report_payload(Report(()), operators=operators) | {"audits": audits_payload([audit])}
    page = (
        page_environment()
        .get_template("audit_page.html.j2")
        .render(
            **audit_values([audit]),
            data=Markup(compress_json(payload)),  # noqa: S704 - letters and digits only
            libraries=[read_script(path) for path in LIBRARY_FILES],
            theme_script=read_script("static/theme.js"),
            pages_script=read_script("static/pages.js"),
            scripts=[read_script(f"static/{name}.js") for name in SCRIPT_NAMES],
            style=read_asset("static/report.css"),
        )
    )
    return page.encode("utf-8", "backslashreplace").decode()


def audit_values(audits: Sequence[AuditRecord]) -> Mapping[str, object]:
    """Return the values that the template of audits needs."""
    return {
        "audits": audits,
        "audit_text": statements,
        "verdict_status": VERDICT_STATUS,
        "verdict_sign": VERDICT_SIGNS,
        "verdict_meaning": VERDICT_MEANINGS,
        "verdicts": tuple(reversed(LayerVerdict)),
        "max_named": MAX_NAMED_LAYERS,
    }


def audits_payload(audits: Sequence[AuditRecord]) -> list[Json]:
    """Return the data of the drawings: of each layer, and of each smallest input."""
    return [
        {
            "layers": [_layer_payload(one) for one in audit.layers],
            "remarks": [_smallest_payload(one.smallest) for one in statements.remarks_of(audit)],
        }
        for audit in audits
    ]


def _layer_payload(layer: AuditedLayerRecord) -> Json:
    """Return a layer as a case without numbers; None for a layer that could not be read."""
    if not layer.operator or not layer.shape:
        return None
    shapes = {"x": layer.shape, **({"kernel": layer.kernel} if layer.kernel else {})}
    return {
        "operator": layer.operator,
        "parameters": dict(layer.parameters),
        "inputs": {name: {"dtype": layer.dtype, "shape": list(shape), "data": None} for name, shape in shapes.items()},
        "expected": {"dtype": layer.dtype, "shape": list(layer.output) or None, "data": None},
    }


def _smallest_payload(smallest: SmallestRecord | None) -> Json:
    if smallest is None:
        return None
    got = None if smallest.got is None else array_payload(smallest.got)
    return {"case": case_payload(smallest.case), "got": got}
