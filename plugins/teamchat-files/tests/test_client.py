"""Files in the web client, in a browser."""

from __future__ import annotations

import io
import os
import re
import wave
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from playwright.sync_api import FilePayload, Locator, Page, Route, expect

from tests.in_the_client import message

Enter = Callable[..., Page]
GRACE = "grace@example.org"


def strip(page: Page) -> Locator:
    return page.get_by_role("list", name="Files to be sent").get_by_role("listitem")


def send(page: Page) -> Locator:
    return page.get_by_role("main").get_by_role("button", name="Send")


def a_file(name: str, data: bytes, kind: str = "application/octet-stream") -> FilePayload:
    return FilePayload(name=name, mimeType=kind, buffer=data)


def attach(page: Page, *files: FilePayload | Path) -> None:
    with page.expect_file_chooser() as chosen:
        page.get_by_role("main").get_by_role("button", name="Attach files").click()
    chosen.value.set_files(list(files))  # type: ignore[arg-type]


def photograph() -> bytes:
    file = io.BytesIO()
    Image.linear_gradient("L").resize((1600, 900)).convert("RGB").save(file, "JPEG")
    return file.getvalue()


def sound(seconds: int = 2) -> bytes:
    file = io.BytesIO()
    with wave.open(file, "wb") as written:
        written.setnchannels(1)
        written.setsampwidth(1)
        written.setframerate(8000)
        written.writeframes(bytes([128]) * 8000 * seconds)
    return file.getvalue()


PDF = b"%PDF-1.4\n%%EOF\n"


@pytest.mark.slow
def test_files_go_along_with_a_message_and_are_saved_by_others(talk: Any, enter: Enter) -> None:
    ada, grace = enter(talk.server), enter(talk.server, GRACE)
    data = os.urandom(300_000)
    attach(ada, a_file("plan <b>.pdf", PDF), a_file("data.bin", data))
    expect(strip(ada)).to_have_count(2)
    expect(strip(ada).nth(1)).to_contain_text("293 kB")
    ada.get_by_role("main").get_by_role("textbox").fill("Both of them")
    expect(send(ada)).to_be_enabled()
    ada.keyboard.press("Enter")
    expect(strip(ada)).to_have_count(0)
    for page in (ada, grace):
        expect(message(page, "Both of them").get_by_role("group")).to_have_count(2)
        expect(message(page, "Both of them")).to_contain_text("plan <b>.pdf")
    with grace.expect_download() as saved:
        message(grace, "Both").get_by_role("button", name="Download data.bin").click()
    assert saved.value.suggested_filename == "data.bin"
    assert Path(saved.value.path()).read_bytes() == data
    with grace.expect_download() as saved:
        message(grace, "Both").get_by_role("button", name="Download plan").click()
    assert Path(saved.value.path()).read_bytes() == PDF


@pytest.mark.slow
def test_files_alone_are_a_message_that_is_read_out(talk: Any, enter: Enter) -> None:
    page = enter(talk.server)
    attach(page, a_file("notes.txt", b"hello"))
    expect(send(page)).to_be_enabled()
    send(page).click()
    expect(message(page, "notes.txt").get_by_role("button", name="Download notes.txt")).to_be_visible()
    expect(message(page, "notes.txt")).to_have_accessible_name(re.compile(r"^Ada .*notes\.txt"))
    page.reload()
    expect(message(page, "notes.txt")).to_be_visible()


@pytest.mark.slow
def test_a_picture_is_seen_small_and_large(talk: Any, enter: Enter) -> None:
    page = enter(talk.server)
    attach(page, a_file("view.jpg", photograph(), "image/jpeg"))
    expect(send(page)).to_be_enabled()
    send(page).click()
    picture = message(page, "Ada").get_by_role("button", name="Open view.jpg")
    expect(picture).to_be_visible()
    shown = picture.get_by_role("img", name="view.jpg")
    expect(shown).to_have_js_property("naturalWidth", 360)
    picture.click()
    dialog = page.get_by_role("dialog", name="view.jpg")
    expect(dialog.get_by_role("img")).to_have_js_property("naturalWidth", 1280)
    expect(dialog).to_contain_text("1600 × 900")
    page.keyboard.press("Escape")
    expect(picture).to_be_focused()


@pytest.mark.slow
def test_sound_is_played_by_ranges(talk: Any, enter: Enter) -> None:
    page = enter(talk.server)
    attach(page, a_file("ring.wav", sound(), "audio/wav"))
    expect(send(page)).to_be_enabled()
    send(page).click()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "ticket=" in request.url else None)
    expect(message(page, "ring.wav")).to_contain_text("0:02 · 16 kB")
    message(page, "ring.wav").get_by_role("button", name="Play ring.wav").click()
    audio = message(page, "ring.wav").locator("audio")
    expect(audio).to_have_js_property("duration", 2)
    expect(audio).not_to_have_js_property("currentTime", 0)
    assert asked
    audio.evaluate("(one) => { one.pause(); one.currentTime = 1; }")
    expect(audio).to_have_js_property("seeking", False)
    expect(audio).to_have_js_property("currentTime", 1)


@pytest.mark.slow
def test_what_plays_goes_on_when_its_message_is_drawn_anew(talk: Any, enter: Enter) -> None:
    page = enter(talk.server)
    attach(page, a_file("long.wav", sound(60), "audio/wav"))
    expect(send(page)).to_be_enabled()
    send(page).click()
    said = message(page, "long.wav")
    said.get_by_role("button", name="Play long.wav").click()
    audio = said.locator("audio")
    expect(audio).not_to_have_js_property("currentTime", 0)
    audio.evaluate("(one) => { one.currentTime = 10; }")
    talk.server.post(f"/messages/{said.get_attribute('data-id')}/reactions", {"reaction": "👍"}, talk.grace)
    expect(said).to_contain_text("👍")
    expect(audio).to_have_js_property("paused", False)
    expect(audio).to_be_focused()
    page.wait_for_function("() => document.querySelector('main audio').currentTime > 11")
    expect(said.get_by_role("button", name="Play long.wav")).to_have_count(0)


@pytest.mark.slow
def test_files_are_there_until_an_edit_takes_them_away(talk: Any, enter: Enter) -> None:
    page = enter(talk.server)
    attach(page, a_file("one.txt", b"1", "text/plain"), a_file("two.txt", b"2", "text/plain"))
    expect(send(page)).to_be_enabled()
    send(page).click()
    expect(page.locator("article:not(.pending)")).to_have_count(1)
    address = f"/messages/{page.locator('article').get_attribute('data-id')}"
    with talk.server.client(talk.ada) as client:
        [first, _] = client.get(address).json()["message"]["files"]
        assert client.put(address, json={"content": "still both"}).is_success
        expect(message(page, "still both")).to_contain_text("two.txt")
        assert client.put(address, json={"content": "one left", "files": [first["id"]]}).is_success
        expect(message(page, "one left")).not_to_contain_text("two.txt")
        expect(message(page, "one left")).to_contain_text("one.txt")
        assert client.put(address, json={"content": "none left", "files": []}).is_success
    expect(message(page, "none left")).not_to_contain_text("one.txt")


# Whether a browser keeps something of an upload, or nothing: in localStorage, and of files; within seconds.
KEEPS = """async ([name, isWanted]) => {
  const answer = (request) => new Promise((done) => (request.onsuccess = () => done(request.result)));
  const opened = await answer(indexedDB.open("teamchat", 1));
  for (let tries = 0; tries < 300; tries++) {
    const count = await answer(opened.transaction("files").objectStore("files").count());
    const isNamed = Object.values(localStorage).join().includes(name);
    if (isNamed === isWanted && count === Number(isWanted)) return true;
    await new Promise(requestAnimationFrame);
  }
  return false;
}"""


@pytest.mark.slow
@pytest.mark.parametrize("where", ["there", "away", "away for long"])
def test_what_was_to_go_to_a_channel_goes_with_it(talk: Any, enter: Enter, where: str) -> None:
    with talk.server.client(talk.grace) as client:
        grace = client.get("/auth/me").json()["user"]["id"]
    asked = {"name": "the plan", "members": [grace]}
    room = talk.server.post("/private-channels", asked, talk.ada)["channel"]["id"]
    page = enter(talk.server, GRACE, f"#/channel/{room}")
    attach(page, a_file("plan.txt", b"nobody may know", "text/plain"))
    expect(send(page)).to_be_enabled()
    assert page.evaluate(KEEPS, ["plan.txt", True])
    if where != "there":
        page.goto(f"{talk.server.base}/health")
    if where == "away for long":  # The log no longer reaches back to where the stream was.
        page.evaluate("for (const key in localStorage) if (key.endsWith('/stream')) delete localStorage[key]")
    talk.delete(f"/channels/{room}/members/{grace}")
    if where != "there":
        page.goto(talk.server.base)
        page.get_by_role("link", name="Go to #General").click()
    assert page.evaluate(KEEPS, ["plan.txt", False])


def drop(page: Page, name: str, text: str, kind: str) -> None:
    page.evaluate(
        """([name, text, type]) => {
          const data = new DataTransfer();
          data.items.add(new File([text], name, { type }));
          const target = document.querySelector("main");
          const look = { dataTransfer: data, bubbles: true, cancelable: true };
          target.dispatchEvent(new DragEvent("drop", look));
        }""",
        [name, text, kind],
    )


def paste(page: Page, name: str, text: str, kind: str) -> None:
    page.evaluate(
        """([name, text, type]) => {
          const data = new DataTransfer();
          data.items.add(new File([text], name, { type }));
          const field = document.querySelector("main textarea");
          const look = { clipboardData: data, bubbles: true, cancelable: true };
          field.dispatchEvent(new ClipboardEvent("paste", look));
        }""",
        [name, text, kind],
    )


@pytest.mark.slow
def test_what_is_dropped_or_pasted_goes_along_too(talk: Any, enter: Enter) -> None:
    page = enter(talk.server)
    expect(page.get_by_role("button", name="Attach files")).to_be_visible()
    drop(page, "a.csv", "1,2", "text/csv")
    expect(strip(page)).to_have_count(1)
    paste(page, "b.zip", "PK", "application/zip")
    expect(strip(page)).to_have_count(2)
    paste(page, "c.svg", "<svg xmlns='http://www.w3.org/2000/svg'/>", "image/svg+xml")
    expect(page.locator(".previews img")).to_have_count(1)
    expect(send(page)).to_be_enabled()
    send(page).click()
    expect(page.get_by_role("article").get_by_role("button", name="Download")).to_have_count(2)


def slow(page: Page) -> list[Route]:
    """Hold back what goes on with uploads; returns what is held."""
    held: list[Route] = []
    page.route(
        "**/uploads/*",
        lambda route: held.append(route) if route.request.method == "PATCH" else route.continue_(),
    )
    return held


BIG = os.urandom(9 * 1024 * 1024)  # More than one piece.


@pytest.mark.slow
def test_an_upload_goes_on_after_a_reload_where_it_was(talk: Any, enter: Enter, tmp_path: Path) -> None:
    page = enter(talk.server)
    sent: list[int] = []

    def count(route: Route) -> None:
        sent.append(int(route.request.headers["upload-offset"]))
        if len(sent) == 2:
            return  # The second piece is on its way when the page is loaded anew.
        route.continue_()

    page.route(
        "**/uploads/*", lambda route: count(route) if route.request.method == "PATCH" else route.continue_()
    )
    (tmp_path / "film.bin").write_bytes(BIG)
    attach(page, tmp_path / "film.bin")
    expect(strip(page)).to_have_count(1)
    while len(sent) < 2:
        page.wait_for_timeout(20)
    page.reload()
    expect(strip(page)).to_contain_text("film.bin")
    expect(send(page)).to_be_enabled()
    assert sent == [0, 8 * 1024 * 1024, 8 * 1024 * 1024]
    send(page).click()
    with page.expect_download() as saved:
        page.get_by_role("button", name="Download film.bin").click()
    assert Path(saved.value.path()).read_bytes() == BIG


@pytest.mark.slow
def test_an_upload_is_paused_and_resumed_by_keys(talk: Any, enter: Enter, tmp_path: Path) -> None:
    page = enter(talk.server)
    held = slow(page)
    (tmp_path / "film.bin").write_bytes(BIG)
    attach(page, tmp_path / "film.bin")
    pause = page.get_by_role("button", name="Pause film.bin")
    while not held:
        page.wait_for_timeout(20)
    pause.focus()
    page.keyboard.press("Enter")
    resume = page.get_by_role("button", name="Resume film.bin")
    expect(resume).to_be_focused()
    expect(strip(page)).to_contain_text("Paused")
    expect(send(page)).to_be_disabled()
    page.unroute("**/uploads/*")
    page.keyboard.press("Enter")
    expect(send(page)).to_be_enabled()


@pytest.mark.slow
def test_an_upload_waits_for_the_line_and_goes_on(talk: Any, enter: Enter, tmp_path: Path) -> None:
    page = enter(talk.server)
    (tmp_path / "film.bin").write_bytes(BIG)
    page.route("**/uploads/*", lambda route: route.abort())
    attach(page, tmp_path / "film.bin")
    expect(strip(page)).to_contain_text("Waiting for the network")
    page.unroute("**/uploads/*")
    expect(send(page)).to_be_enabled(timeout=40_000)


def test_what_is_removed_is_sent_nowhere_and_too_large_is_said(talk: Any, enter: Enter) -> None:
    page = enter(talk.server)
    attach(page, a_file("a.bin", b"\0\1"), a_file("b.bin", b"\0\2"))
    page.get_by_role("button", name="Remove a.bin").click()
    expect(strip(page)).to_have_count(1)
    page.get_by_role("main").get_by_role("textbox").fill("just one")
    expect(send(page)).to_be_enabled()
    send(page).click()
    expect(message(page, "just one").get_by_role("group")).to_have_count(1)
    attach(page, *[a_file(f"{number}.bin", b"\0") for number in range(12)])
    expect(strip(page)).to_have_count(10)
    expect(page.get_by_role("region", name="Notices").get_by_text("at most 10 files")).to_be_visible()


@pytest.mark.slow
def test_a_file_is_passed_on_and_stays_when_it_is_deleted_where_it_was(talk: Any, enter: Enter) -> None:
    talk.channel("Kitchen")
    closed = talk.channel("News")
    with talk.server.client(talk.ada) as client:
        assert client.put(f"/channels/{closed}", json={"postPolicy": "managers"}).is_success
    ada, grace = enter(talk.server), enter(talk.server, GRACE)
    attach(ada, a_file("plan.pdf", PDF), a_file("view.jpg", photograph(), "image/jpeg"))
    ada.get_by_role("main").get_by_role("textbox").fill("Both of them")
    expect(send(ada)).to_be_enabled()
    ada.keyboard.press("Enter")
    message(grace, "Both").get_by_role("button", name="Pass on plan.pdf").click()
    dialog = grace.get_by_role("dialog", name="Pass on plan.pdf")
    dialog.get_by_label("Where to").select_option(label="#News")
    dialog.get_by_role("button", name="Pass on").click()
    expect(dialog.get_by_role("alert").first).to_be_visible()
    dialog.get_by_label("Where to").select_option(label="#Kitchen")
    dialog.get_by_label("Your words").fill("for you")
    dialog.get_by_role("button", name="Pass on").click()
    expect(dialog).to_have_count(0)
    grace.get_by_role("button", name="Show").click()
    message(ada, "Both").get_by_role("button", name="Open view.jpg").click()
    ada.get_by_role("dialog").get_by_role("button", name="Pass on view.jpg").click()
    last = ada.get_by_role("dialog", name="Pass on view.jpg")
    last.get_by_label("Where to").select_option(label="#Kitchen")
    last.get_by_role("button", name="Pass on").click()
    expect(grace.get_by_role("article").get_by_role("button", name="Open view.jpg")).to_be_visible()
    ada.get_by_role("button", name="Show").click()
    expect(ada.get_by_role("dialog")).to_have_count(0)
    expect(ada.get_by_role("article").get_by_role("button", name="Open view.jpg")).to_be_visible()
    with talk.server.client(talk.ada) as client:
        [said] = client.get(f"/channels/{talk.general}/messages").json()["messages"]
    talk.delete(f"/messages/{said['id']}")
    with grace.expect_download() as saved:
        message(grace, "for you").get_by_role("button", name="Download plan.pdf").click()
    assert Path(saved.value.path()).read_bytes() == PDF


@pytest.mark.slow
def test_the_files_of_a_room_lead_to_their_messages(talk: Any, enter: Enter) -> None:
    page = enter(talk.server)
    page.get_by_role("main").get_by_role("button", name="Files", exact=True).click()
    expect(page.get_by_role("dialog")).to_contain_text("There are no files here.")
    page.keyboard.press("Escape")
    for name in ("one.bin", "two.bin"):
        attach(page, a_file(name, b"\0"))
        expect(send(page)).to_be_enabled()
        send(page).click()
        expect(message(page, name)).to_be_visible()
    page.get_by_role("main").get_by_role("button", name="Files", exact=True).click()
    listed = page.get_by_role("list", name="Files in #General").get_by_role("listitem")
    expect(listed).to_contain_text(["two.bin", "one.bin"])
    listed.nth(1).get_by_role("button", name="Ada,").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(message(page, "one.bin")).to_be_focused()


@pytest.mark.slow
@pytest.mark.parametrize("look", [{}, {"viewport": {"width": 390, "height": 844}}])
def test_it_is_accessible_and_fits_a_phone(talk: Any, visit: Any, enter: Enter, look: dict[str, Any]) -> None:
    page = enter(talk.server, **look)
    attach(page, a_file("a rather long name of a file that does not fit into one line.bin", b"\0"))
    expect(send(page)).to_be_enabled()
    page.get_by_role("main").get_by_role("textbox").fill("Here it is")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    if shots := os.environ.get("SHOTS"):
        page.screenshot(path=f"{shots}-{page.viewport_size['width']}-going.png")
    send(page).click()
    expect(message(page, "Here it is").get_by_role("group")).to_have_count(1)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    if shots := os.environ.get("SHOTS"):
        attach(page, a_file("view.jpg", photograph(), "image/jpeg"), a_file("ring.wav", sound(), "audio/wav"))
        expect(send(page)).to_be_enabled()
        send(page).click()
        expect(message(page, "ring.wav").get_by_role("img")).to_have_js_property("naturalWidth", 360)
        page.screenshot(path=f"{shots}-{page.viewport_size['width']}.png")


# What a browser does with what another app shares: it posts a form to where the manifest says.
SHARE = """async ([target, files, text]) => {
  await navigator.serviceWorker.ready;
  while (!navigator.serviceWorker.controller) {
    const once = { once: true };
    await new Promise((done) => navigator.serviceWorker.addEventListener("controllerchange", done, once));
  }
  const form = new FormData();
  for (const [name, type, words] of files) form.append("files", new File([words], name, { type }));
  form.append("title", "");
  form.append("text", text);
  const answer = await fetch(target.action, { method: target.method, body: form });
  return answer.url;
}"""


def share(page: Page, base: str, *files: tuple[str, str, str], text: str = "") -> None:
    target = page.request.get(f"{base}/manifest.webmanifest").json()["share_target"]
    assert target["params"]["files"] == [{"name": "files", "accept": ["*/*"]}]
    answered = page.evaluate(SHARE, [target, files, text])
    assert answered == f"{base}/"
    page.reload()


def offered(page: Page, says: str) -> Locator:
    return page.get_by_role("main").get_by_role("group", name=says)


@pytest.mark.slow
def test_what_another_app_shares_is_put_where_the_person_says(talk: Any, enter: Enter) -> None:
    base = talk.server.base
    page = enter(talk.server, service_workers="allow")
    share(
        page,
        base,
        ("plän.txt", "text/plain", "words"),
        ("b.bin", "", "more"),
        text="see https://example.org/",
    )
    offered(page, "2 files were shared.").get_by_role("button", name="Put it here").click()
    expect(offered(page, "2 files were shared.")).to_have_count(0)
    expect(strip(page)).to_have_count(2)
    expect(page.get_by_role("main").get_by_role("textbox")).to_have_value("see https://example.org/")
    expect(send(page)).to_be_enabled()
    send(page).click()
    expect(message(page, "see https").get_by_role("button", name="Download plän.txt")).to_be_visible()
    page.reload()
    expect(message(page, "see https")).to_be_visible()
    expect(offered(page, "2 files were shared.")).to_have_count(0)


@pytest.mark.slow
def test_what_another_app_shares_stays_until_it_is_discarded(
    talk: Any, enter: Enter, accessible: Callable[[Page], None]
) -> None:
    page = enter(talk.server, service_workers="allow")
    share(page, talk.server.base, text="only words")
    expect(offered(page, "A text was shared.")).to_be_visible()
    accessible(page)
    page.reload()
    offered(page, "A text was shared.").get_by_role("button", name="Discard").click()
    expect(offered(page, "A text was shared.")).to_have_count(0)
    page.reload()
    expect(page.get_by_role("main").get_by_role("textbox")).to_be_visible()
    expect(offered(page, "A text was shared.")).to_have_count(0)
