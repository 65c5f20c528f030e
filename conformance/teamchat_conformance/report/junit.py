"""The report for those who read JUnit's XML: one test case per check, which fails if the run fails for it."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

from teamchat_conformance.report.document import Checked, Document
from teamchat_conformance.report.transcript import curl, request_text, response_text, telling

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SKIPPED = ("blocked", "not-exercised", "not-applicable", "skipped")
_MOST_BODY = 2_000
_MOST_EXCHANGES = 4


def rendered(document: Document) -> str:
    """Return the XML."""
    cases = document.checks
    totals = {
        "tests": str(len(cases)),
        "failures": str(sum(one.fails_run and one.verdict != "error" for one in cases)),
        "errors": str(sum(one.verdict == "error" for one in cases)),
        "skipped": str(sum(_is_skipped(one) for one in cases)),
        "time": f"{document.seconds:.3f}",
    }
    root = ET.Element("testsuites", {"name": "teamchat-conformance", **totals})
    suite = ET.SubElement(root, "testsuite", {"name": _clean(document.claim.name), **totals})
    _properties(suite, claim=document.claim.line, suite=document.suite_version)
    for check in cases:
        _case(document, check, suite)
    ET.indent(root, " ")
    return ET.tostring(root, encoding="unicode", xml_declaration=False)


def _case(document: Document, check: Checked, suite: ET.Element) -> None:
    case = ET.SubElement(
        suite, "testcase", classname=check.area, name=check.id, time=_seconds(document, check)
    )
    _properties(case, level=check.level, spec=check.spec, verdict=check.verdict, text=check.text)
    if check.fails_run:
        kind = "error" if check.verdict == "error" else "failure"
        told = ET.SubElement(case, kind, message=_clean(check.message), type=check.level)
        told.text = _clean(f"{check.text}\n{check.message}\n\n{_transcript(document, check)}")
    elif _is_skipped(check):
        ET.SubElement(case, "skipped", message=_clean(f"{check.verdict}: {check.message}"))
    elif check.message:
        ET.SubElement(case, "system-out").text = _clean(f"{check.verdict}: {check.message}")


def _is_skipped(check: Checked) -> bool:
    return check.verdict in _SKIPPED


def _properties(element: ET.Element, **values: str) -> None:
    properties = ET.SubElement(element, "properties")
    for name, value in values.items():
        ET.SubElement(properties, "property", name=name, value=_clean(value))


def _seconds(document: Document, check: Checked) -> str:
    """Return how long it took to decide the check, or its exchanges together if they took longer."""
    played = document.played(check)
    numbers = check.decisive.exchanges if check.decisive and not check.is_monitored else []
    found = [sent for number in numbers if played and (sent := played.exchange(number)) and sent.ended]
    spent = sum(sent.ended - sent.started for sent in found)
    return f"{max(spent, check.decisive.seconds if check.decisive else 0.0):.3f}"


def _transcript(document: Document, check: Checked) -> str:
    played = document.played(check)
    if played is None:
        return ""
    parts = []
    for sent in telling(played, check)[:_MOST_EXCHANGES]:
        parts += [
            f"#{sent.number} by {sent.actor}", request_text(sent, _MOST_BODY), "",
            response_text(sent, _MOST_BODY), "", curl(sent, played.base_url), "",
        ]  # fmt: skip
    return "\n".join(parts)


def _clean(text: str) -> str:
    """Return a text that may stand in XML."""
    return _NOT_XML.sub("\ufffd", text)
