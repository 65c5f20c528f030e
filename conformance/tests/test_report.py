"""What is told of a run, and that no form of it tells more than it may."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from base64 import b64encode
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote
from xml.etree import ElementTree as ET

import pytest
import trio

from conformance.tests.report_support import (
    RUN_ID,
    a_recorder,
    a_result,
    exchange,
    findings,
    observer,
    registry,
    with_message,
)
from conformance.tests.servers import only, played, running
from conformance.tests.support import ADMIN, areas
from teamchat_conformance import report
from teamchat_conformance.http import Client, Recorder
from teamchat_conformance.report import terminal
from teamchat_conformance.report.document import Checked, Played, compose
from teamchat_conformance.report.transcript import curl, sent_line, taken_apart, telling
from teamchat_conformance.runner import Result
from teamchat_conformance.verdicts import Finding, Outcome

HOSTILE = "\x00\x1b[31m</pre><script>alert(1)</script>]]>&\ud800\uffff ü 🙂"


def written(tmp_path: Path, *results: Result, strict: bool = False) -> dict[str, str]:
    """Write a report and return its files, and what stands on the terminal."""
    report.write(results, registry(), tmp_path, strict=strict)
    files = {path.name: path.read_text("utf-8") for path in sorted(tmp_path.iterdir())}
    files["terminal"] = terminal.summary(results, registry(), verbose=True, strict=strict)
    return files


def everything_in(directory: Path) -> str:
    return "".join(path.read_text("utf-8") for path in directory.iterdir())


def claim(**outcomes: Outcome) -> str:
    return compose([a_result(findings(**outcomes))], registry()).claim.says


def verdict_of(*outcomes: Outcome) -> str:
    results = [a_result(findings(XX_ONE_01=outcome)) for outcome in outcomes]
    return compose(results, registry()).checks[0].verdict


class TestClaim:
    def test_all_passed_is_conforming(self) -> None:
        assert claim() == "conforming"

    def test_notes_and_failed_recommendations_are_warnings(self) -> None:
        assert claim(XX_ONE_01="note") == "conforming with 1 warning"
        assert claim(XX_ONE_01="note", XX_TWO_01="fail") == "conforming with 2 warnings"

    def test_a_failed_required_check_is_no_conformance_whatever_else_there_is(self) -> None:
        assert claim(XX_ONE_01="fail", XX_ONE_02="blocked") == "non-conforming (1 required)"

    @pytest.mark.parametrize("outcome", ["blocked", "not-exercised", "skipped", "error"])
    def test_a_required_check_that_was_not_shown_makes_it_incomplete(self, outcome: Outcome) -> None:
        assert claim(XX_ONE_01=outcome) == "incomplete (1 required not shown)"

    def test_what_the_server_does_not_declare_is_named_as_an_exception(self) -> None:
        found = findings()
        found["XX-ONE-02"] = Finding("XX-ONE-02", "not-applicable", "needs mail")
        line = compose([a_result(found, profile="dev")], registry()).claim.line
        assert line.startswith("conforming: a server 1.2 (core), by teamchat-conformance ")
        assert line.endswith("1 profile: dev; not looked at: mail that arrives in the suite's sink")

    def test_what_one_profile_declares_is_no_exception_for_another_does_not(self) -> None:
        found = findings()
        found["XX-ONE-02"] = Finding("XX-ONE-02", "not-applicable", "needs mail, open")
        with_mail = a_result(found, profile="with mail", mail={"kind": "builtin"})
        claimed = compose([a_result(found, profile="dev"), with_mail], registry()).claim
        assert claimed.exceptions == ("auth.isInviteRequired false",)


@pytest.mark.parametrize(
    ("outcomes", "verdict"),
    [
        (("pass", "skipped"), "pass"),
        (("blocked", "pass"), "pass"),
        (("pass", "fail"), "fail"),
        (("note", "pass"), "note"),
        (("error", "pass"), "error"),
        (("not-applicable", "blocked"), "blocked"),
        (("not-applicable", "not-applicable"), "not-applicable"),
    ],
)
def test_a_check_passes_that_passed_in_one_profile_and_failed_in_none(
    outcomes: tuple[Outcome, ...], verdict: str
) -> None:
    assert verdict_of(*outcomes) == verdict


class TestTerminal:
    def told(self, verbose: bool = False, strict: bool = False, **outcomes: Outcome) -> str:
        return terminal.summary([a_result(findings(**outcomes))], registry(), verbose=verbose, strict=strict)

    def test_the_claim_comes_first_and_the_counts_last(self) -> None:
        lines = self.told(XX_ONE_01="fail").splitlines()
        assert lines[0].startswith("non-conforming (1 required): a server 1.2")
        assert lines[-1] == "3 passed, 1 failed, 0 skipped"

    def test_a_failure_is_told_with_what_was_sent_wanted_and_got_and_how_to_repeat_it(self) -> None:
        recorder = a_recorder()
        exchange(recorder, "PUT", "/things/1", sent={"a": "b"}, got={"error": "no"}, status=404)
        message = 'PUT /things/1 by user U: expected 403; got 404 {"error": "no"}'
        told = terminal.summary(
            [with_message(a_result(recorder=recorder), "XX-ONE-02", "fail", message, 1)], registry()
        )
        assert "FAIL XX-ONE-02  required, §4 Things" in told
        assert "check   a thing is private" in told
        assert "sent    PUT /things/1 by user U" in told
        assert "wanted  expected 403" in told
        assert 'got     404 {"error": "no"}' in told
        assert "> PUT /things/1 HTTP/1.1" in told
        assert "< HTTP/1.1 404" in told
        assert 'repeat  curl -sS -i -X PUT --data-raw \'{"a": "b"}\' http://127.0.0.1:3000/things/1' in told

    def test_notes_and_records_are_only_counted_unless_asked_for(self) -> None:
        assert "NOTE XX-ONE-01" not in self.told(XX_ONE_01="note")
        assert "3 passed, 0 failed" not in self.told(XX_ONE_01="note")
        told = self.told(verbose=True, XX_ONE_01="note")
        assert "NOTE XX-ONE-01" in told
        assert "RECORDED YY-ODD-01" in told

    def test_warnings_fail_when_strictness_is_asked_for(self) -> None:
        assert self.told(XX_TWO_01="fail").endswith("3 passed, 0 failed, 0 skipped\n")
        assert self.told(strict=True, XX_TWO_01="fail").endswith("3 passed, 1 failed, 0 skipped\n")

    def test_what_a_server_sent_does_nothing_to_the_terminal(self) -> None:
        told = terminal.summary(
            [with_message(a_result(), "XX-ONE-01", "fail", HOSTILE)], registry(), verbose=True
        )
        assert not re.search("[\x00-\x09\x0b-\x1f]", told)


class TestFiles:
    @pytest.fixture
    def files(self, tmp_path: Path) -> dict[str, str]:
        recorder = a_recorder()
        hostile = HOSTILE.encode("utf-8", "replace")
        exchange(recorder, "POST", "/things", sent=hostile, got=hostile, media_type="text/html", Odd=HOSTILE)
        result = with_message(a_result(recorder=recorder), "XX-ONE-01", "fail", HOSTILE, 1)
        return written(tmp_path, with_message(result, "XX-TWO-01", "fail", HOSTILE, 1))

    def test_the_junit_file_is_valid_whatever_was_sent(self, files: dict[str, str]) -> None:
        suite = ET.fromstring(files["junit.xml"])[0]
        cases = suite.findall("testcase")
        assert [case.get("name") for case in cases] == ["XX-ONE-01", "XX-ONE-02", "XX-TWO-01", "YY-ODD-01"]
        assert [case.get("classname") for case in cases] == ["XX", "XX", "XX", "YY"]
        assert suite.get("failures") == "1"

    def test_only_what_fails_the_run_is_a_failure(self, files: dict[str, str]) -> None:
        cases = ET.fromstring(files["junit.xml"])[0].findall("testcase")
        assert [case.get("name") for case in cases if case.find("failure") is not None] == ["XX-ONE-01"]
        properties = {one.get("name"): one.get("value") for one in cases[2].iter("property")}
        assert properties["verdict"] == "fail"
        assert properties["level"] == "recommended"
        assert properties["spec"] == "§2"

    def test_the_page_loads_nothing_and_runs_nothing_but_its_own_script(self, files: dict[str, str]) -> None:
        page = _Page()
        page.feed(files["report.html"])
        assert page.open == []
        assert page.scripts == 1
        assert not page.outside
        assert "default-src 'none'" in files["report.html"]

    def test_every_check_is_on_the_page_and_what_failed_is_unfolded(self, files: dict[str, str]) -> None:
        assert re.search(r'<details class="check" id="XX-ONE-01"[^>]* open>', files["report.html"])
        assert re.search(r'<details class="check" id="XX-ONE-02"[^>]*verdict="pass">', files["report.html"])

    def test_the_json_file_has_everything(self, files: dict[str, str]) -> None:
        told = json.loads(files["results.json"])
        assert told["schemaVersion"] == 2
        assert told["claim"]["says"] == "non-conforming (1 required)"
        assert [check["verdict"] for check in told["checks"]] == ["fail", "pass", "fail", "recorded"]
        assert told["observations"] == {"YY-ODD-01": {"": {"status": 200}}}
        assert told["profiles"][0]["seed"] == 7
        assert told["profiles"][0]["exchanges"][0]["method"] == "POST"

    def test_the_badge_says_the_claim(self, files: dict[str, str]) -> None:
        badge = json.loads(files["badge.json"])
        assert badge == {
            "schemaVersion": 1,
            "label": "teamchat conformance",
            "message": "non-conforming (1 required)",
            "color": "red",
        }
        assert "non-conforming (1 required)" in "".join(ET.fromstring(files["badge.svg"]).itertext())

    def test_an_unknown_form_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(ValueError, match="xlsx"):
            report.write([a_result()], registry(), tmp_path, ["xlsx"])


class TestSecrets:
    SECRETS = (
        "a conformant passphrase",
        'quoted "pass\\word" ü',
        "0123456789abcdef" * 4,
        "eyJhbGciOiJIUzI1NiJ9.eyJh.c2ln",
    )

    def files(self, tmp_path: Path) -> dict[str, str]:
        recorder = a_recorder()
        for secret in self.SECRETS:
            recorder.secret(secret, "secret")
            exchange(recorder, "POST", f"/x?q={quote(secret)}", sent={"a": secret}, got={"b": secret[:16]},
                     Authorization=f"Bearer {secret}")  # fmt: skip
        unknown = "nobody-registered-this"
        exchange(recorder, "GET", f"/y?token={unknown}", got={"refreshToken": unknown},
                 Cookie=f"session={unknown}")  # fmt: skip
        message = f"GET /x by user U: expected 200; got 500 {self.SECRETS[2]} {self.SECRETS[3][:-2]}"
        admin = {"email": "a@b", "password": "only-in-the-description"}
        result = a_result(recorder=recorder, admin=admin)
        result = with_message(result, "XX-ONE-01", "fail", message, *range(1, 6))
        seen = {"token": self.SECRETS[0], "n": [self.SECRETS[1]]}
        result.findings["YY-ODD-01"] = Finding("YY-ODD-01", "recorded", value=seen)
        result.server_output = f"started with {self.SECRETS[2]}"
        return written(tmp_path, result)

    def test_a_secret_stands_in_no_file_in_no_form(self, tmp_path: Path) -> None:
        for name, text in self.files(tmp_path).items():
            for secret in (*self.SECRETS, "only-in-the-description", "nobody-registered-this"):
                encoded = b64encode(secret.encode()).decode()
                for form in (secret, json.dumps(secret)[1:-1], quote(secret, safe=""), encoded):
                    assert form not in text, f"{form} in {name}"

    def test_a_secret_that_was_cut_off_is_one_still(self, tmp_path: Path) -> None:
        for name, text in self.files(tmp_path).items():
            assert "0123456789abcd" not in text, name
            assert "eyJhbGciOi" not in text, name

    def test_its_label_stands_in_its_place(self, tmp_path: Path) -> None:
        assert "Bearer <secret>" in self.files(tmp_path)["terminal"]

    @pytest.mark.slow
    async def test_no_secret_of_a_real_run_is_written(self, tmp_path: Path) -> None:
        chosen = only(("SESS-REF-01", "SESS-OUT-01", "HOOK-POST-01", "PWD-ADMIN-01", "PWD-CHANGE-01"))
        async with running("password") as server:
            result = await played(server, chosen)
        report.write([result], chosen, tmp_path)
        text = everything_in(tmp_path) + terminal.summary([result], chosen, verbose=True)
        assert len(result.recorder.secrets) > 20
        assert [label for secret, label in result.recorder.secrets.items() if secret in text] == []
        assert result.recorder.redact(text) == text


class TestForeign:
    def files(self, tmp_path: Path) -> dict[str, str]:
        recorder = a_recorder()
        exchange(recorder, "POST", "/auth/dev-login", got={"user": {"id": "u-admin", "email": "admin@x"}})
        exchange(recorder, "POST", "/channels", got={"channel": {"id": "c-own", "name": "ours"}})
        channels = [
            {"id": "c-own", "name": "ours to keep"},
            {"id": "c-theirs", "name": "their plans", "createdBy": "u-admin"},
            {"id": "c-run", "name": f"tc-{RUN_ID}-1"},
        ]
        exchange(recorder, "GET", "/channels", got={"channels": channels})
        exchange(recorder, "GET", "/channels", got=json.dumps({"channels": channels[1:] * 9}).encode()[:300])
        theirs = b'data: {"type":"NEW_MESSAGE","payload":{"id":"m","content":"their words"}}\n\n'
        exchange(recorder, "GET", "/events", got=theirs, media_type="text/event-stream")
        watching = observer(
            recorder,
            ("NEW_MESSAGE", {"id": "m-theirs", "content": "their words"}),
            ("UPDATE_SERVER_SETTINGS", {"name": "their words"}),
            ("NEW_CHANNEL", {"id": "c-own", "name": "ours to keep"}),
        )
        message = f"the body.channels should be an array, and is {json.dumps(channels)[:150]}"
        result = a_result(recorder=recorder, observers=[watching])
        result = with_message(result, "XX-ONE-01", "fail", message, 1, 2, 3, 4, 5)
        result.findings["YY-ODD-01"] = Finding("YY-ODD-01", "recorded", value=channels)
        return written(tmp_path, result)

    def test_nothing_of_other_people_is_written(self, tmp_path: Path) -> None:
        for name, text in self.files(tmp_path).items():
            assert "their plans" not in text, name
            assert "their words" not in text, name
            assert "c-theirs" not in text, name

    def test_what_the_run_has_made_stays(self, tmp_path: Path) -> None:
        files = self.files(tmp_path)
        told = json.loads(files["results.json"])
        events = told["profiles"][0]["streams"][0]["events"]
        assert [event["type"] for event in events] == ["<foreign>", "<foreign>", "NEW_CHANNEL"]
        assert json.loads(told["profiles"][0]["exchanges"][2]["body"]) == {
            "channels": [
                {"id": "c-own", "name": "ours to keep"},
                "<foreign>",
                {"id": "c-run", "name": f"tc-{RUN_ID}-1"},
            ]
        }
        assert "ours to keep" in files["report.html"]

    @pytest.mark.slow
    async def test_nothing_of_other_people_is_written_of_a_server_in_use(self, tmp_path: Path) -> None:
        chosen = areas("CHAN", "EVT", "USER")
        async with running("dev") as server, trio.open_nursery() as nursery:
            admin = Client(server.instance.base_url, Recorder("others"), actor="somebody else")
            admin.token = (await admin.post("/auth/dev-login", {"email": ADMIN})).ok()["token"]
            await admin.post("/users/add", {"email": "their.address@example.org", "role": "user"})
            channel_id = (await admin.post("/channels", {"name": "their plans"})).ok()["channel"]["id"]
            nursery.start_soon(_chatter, admin, f"/channels/{channel_id}/messages")
            result = await played(server, chosen)
            nursery.cancel_scope.cancel()
            await admin.aclose()
        heard = [event for observer in result.observers for event in observer.events]
        assert any("their words" in event.data for event in heard)
        report.write([result], chosen, tmp_path)
        text = everything_in(tmp_path) + terminal.summary([result], chosen, verbose=True)
        for theirs in ("their.address", "their plans", "their words", channel_id):
            assert theirs not in text


async def _chatter(client: Client, target: str) -> None:
    while True:
        await client.post(target, {"content": "their words"})
        await trio.sleep(0.05)


def test_a_message_is_taken_apart() -> None:
    said = taken_apart('GET /a?b=c:d by user U: the body has no id; got 200 {"x": "; got 300"}')
    assert said.sent == "GET /a?b=c:d by user U"
    assert said.wanted == "the body has no id"
    assert said.got == '200 {"x": "; got 300"}'
    assert taken_apart("something else").got == "something else"


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_the_line_to_repeat_a_request_says_the_same_to_a_shell() -> None:
    recorder = a_recorder()
    body = 'it\'s "quoted"\n\x01 $(id) `id` \\ ü'
    exchange(recorder, "POST", "/a?b=c&d=e", sent=body.encode(), Odd="it's $HOME")
    played_ = compose([a_result(recorder=recorder)], registry()).profiles[0]
    line = curl(played_.exchanges[0], "http://127.0.0.1:3000/base/")
    told = subprocess.run(
        ["bash", "-c", f"curl() {{ printf '%s\\0' \"$@\"; }}; {line}"],
        capture_output=True,
        check=True,
        timeout=10,
    )
    assert told.stdout.decode().split("\0")[:-1] == [
        "-sS", "-i", "-X", "POST", "-H", "Odd: it's $HOME", "--data-raw", body,
        "http://127.0.0.1:3000/base/a?b=c&d=e",
    ]  # fmt: skip


class _Page(HTMLParser):
    """Reads a page and keeps what is open and what leads outside."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.scripts = 0
        self.outside: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("meta", "input"):
            self.open.append(tag)
        self.scripts += tag == "script"
        leads = [value or "" for name, value in attrs if name in ("src", "href", "action")]
        self.outside += [target for target in leads if not target.startswith("#")]
        self.outside += [name for name, _ in attrs if name.startswith("on")]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


class TestWhatShowedTheFault:
    def told(self, *, failing: int) -> tuple[Played, Checked]:
        recorder = a_recorder()
        exchange(recorder, "POST", "/channels", sent={"name": "one"})
        exchange(recorder, "POST", "/channels", sent={"name": 1}, Authorization="bearer lower")
        exchange(recorder, "GET", "/channels")
        result = a_result(recorder=recorder)
        result.findings["XX-ONE-01"] = Finding("XX-ONE-01", "fail", "wrong", [1, 2, 3], failing=failing)
        document = compose([result], registry())
        return document.profiles[0], document.check("XX-ONE-01")

    def test_the_exchange_that_failed_comes_first_and_none_that_came_after_it(self) -> None:
        assert [sent.number for sent in telling(*self.told(failing=2))] == [2, 1]

    def test_without_knowing_which_failed_the_last_comes_first(self) -> None:
        assert [sent.number for sent in telling(*self.told(failing=0))] == [3, 2, 1]

    def test_a_request_is_told_with_the_header_and_the_body_that_matter(self) -> None:
        played_, _ = self.told(failing=2)
        line = sent_line(played_.exchanges[1])
        assert line.startswith("POST /channels by user U with Authorization: ")
        assert line.endswith('sending {"name": 1}')
        assert sent_line(played_.exchanges[2]) == "GET /channels by user U"


def test_what_one_endpoint_blocks_is_told_once_whatever_it_was_asked_for(tmp_path: Path) -> None:
    result = a_result()
    for id, number in (("XX-ONE-01", 1), ("XX-TWO-01", 2)):
        message = f"POST /messages/m-{number}/thread by user U: expected 200; got 404 {{}}"
        result.findings[id] = Finding(id, "blocked", message)
    said = terminal.summary([result], registry())
    assert said.count("BLOCKED") == 1
    assert "checks  XX-ONE-01 XX-TWO-01" in said
