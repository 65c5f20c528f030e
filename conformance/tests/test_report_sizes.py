"""The report of a large run of a server with many faults can be read on a phone, sent by mail, and loaded."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from conformance.tests.report_support import a_recorder, a_result, exchange, observer
from teamchat_conformance import report
from teamchat_conformance.registry import load
from teamchat_conformance.runner import Result
from teamchat_conformance.verdicts import Finding, Outcome

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
PHONE_PIXELS = 390
_REQUESTS = 15_000
_OUTCOMES: tuple[Outcome, ...] = ("fail", "pass", "note", "pass", "pass")
_MEASURE = """
import sys
from playwright.sync_api import sync_playwright
with sync_playwright() as playwright:
    browser = playwright.chromium.launch(executable_path=sys.argv[1], args=["--no-sandbox"])
    page = browser.new_page(viewport={"width": int(sys.argv[3]), "height": 844})
    page.goto(sys.argv[2])
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    print(page.evaluate("document.documentElement.scrollWidth"))
    browser.close()
"""


def a_large_run() -> Result:
    """Return a run of all checks: every fifth fails, every fifth is noted, and all answers are long."""
    recorder = a_recorder()
    for number in range(1, _REQUESTS + 1):
        message = {"id": f"m{number}", "content": "x" * 700, "unbroken": "y" * 200}
        exchange(recorder, "POST", f"/channels/c-{number:x}{'z' * 30}/messages", sent={"content": "x" * 300},
                 got={"message": message}, status=200, Authorization="Bearer <access token>")  # fmt: skip
    observers = [
        observer(recorder, *(("NEW_MESSAGE", {"id": f"m{n}", "content": "x" * 80}) for n in range(20)))
        for _ in range(50)
    ]
    found = {}
    for number, check in enumerate(load().checks.values()):
        outcome = _OUTCOMES[number % len(_OUTCOMES)]
        if check.level == "recorded":
            found[check.id] = Finding(check.id, "recorded", value={"a": ["x" * 40] * 10})
            continue
        shown = 10 * number + 7
        said = (
            f"POST /channels/c-{shown:x}{'z' * 30}/messages by user U: expected {400 + number % 60}; got 200 "
        )
        found[check.id] = Finding(
            check.id, outcome, "" if outcome == "pass" else said + "{}" * 120,
            [*range(10 * number, shown + 1)], failing=shown, seconds=0.25,
        )  # fmt: skip
    return a_result(found, recorder, observers=observers)


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("report")
    report.write([a_large_run()], load(), where)
    return where


@pytest.mark.slow
def test_the_page_is_under_600_kb(directory: Path) -> None:
    assert (directory / "report.html").stat().st_size < 600_000


def test_the_json_file_is_under_3_mb_and_has_the_exchange_that_showed_each_fault(directory: Path) -> None:
    file = directory / "results.json"
    assert file.stat().st_size < 3_000_000
    told = json.loads(file.read_text("utf-8"))
    there = {one["number"] for one in told["profiles"][0]["exchanges"]}
    failed = [one for one in told["checks"] if one["verdict"] == "fail"]
    assert len(failed) > 150
    assert {one["told"][0]["failing"] for one in failed} <= there
    assert told["profiles"][0]["requests"] == _REQUESTS


def test_every_test_case_for_ci_says_how_long_it_took(directory: Path) -> None:
    cases = list(ET.parse(directory / "junit.xml").iter("testcase"))
    decided = [case for case in cases if case.find("properties/property[@value='recorded']") is None]
    assert len(decided) > 800
    assert [case.get("name") for case in decided if float(case.get("time", "0")) < 0.25] == []


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine")
def test_the_page_is_no_wider_than_a_phone_with_everything_unfolded(directory: Path) -> None:
    pytest.importorskip("playwright")
    page = (directory / "report.html").as_uri()
    # In a process of its own: two Playwrights in one don't go together.
    measured = subprocess.run(
        [sys.executable, "-c", _MEASURE, str(CHROMIUM), page, str(PHONE_PIXELS)],
        capture_output=True, check=True, timeout=120, text=True,
    )  # fmt: skip
    assert int(measured.stdout) <= PHONE_PIXELS
