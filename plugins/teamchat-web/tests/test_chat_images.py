"""Images in messages: chosen, pasted and dropped; seen small and large (interface, Images)."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import FilePayload, Page, expect

GRACE = "grace@example.org"
Serve = Callable[..., Any]
Enter = Callable[..., Page]

HAND_OVER = """([how, bytes]) => {
  const file = new File([new Uint8Array(bytes)], "pasted.png", { type: "image/png" });
  const data = new DataTransfer();
  data.items.add(file);
  const field = document.querySelector("main textarea");
  const event = how === "paste"
    ? new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true })
    : new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true });
  field.dispatchEvent(event);
}"""


def png(width: int, height: int) -> bytes:
    """Return a picture of one colour."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = (b"\0" + b"\x10\x80\x90" * width) * height
    end = chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + end


def files(*names: str) -> list[FilePayload]:
    return [{"name": name, "mimeType": "image/png", "buffer": png(90, 60)} for name in names]


@pytest.mark.slow
def test_chosen_images_are_previewed_sent_and_seen_large(serve: Serve, enter: Enter) -> None:
    server = serve()
    ada, grace = enter(server), enter(server, GRACE)
    picker = ada.locator("main input[type=file]")
    picker.set_input_files(files("one.png", "two.png", "three.png"))
    expect(ada.locator(".preview img")).to_have_count(3)
    ada.get_by_role("button", name="Remove two.png").click()
    expect(ada.locator(".preview img")).to_have_count(2)
    ada.get_by_label("Write to #General").fill("Two pictures")
    ada.keyboard.press("Enter")
    expect(ada.locator(".preview")).to_have_count(0)

    shown = grace.get_by_role("img", name="Image 1 of 2 from Ada")
    expect(shown).to_be_visible()
    expect(shown).to_have_js_property("naturalWidth", 90)
    shown.click()
    box = grace.get_by_role("dialog", name="Image")
    expect(box).to_contain_text("Ada · 1 / 2")
    grace.keyboard.press("ArrowRight")
    expect(box).to_contain_text("Ada · 2 / 2")
    expect(box.get_by_role("img", name="Image 2 of 2 from Ada")).to_be_visible()
    box.get_by_role("button", name="Zoom").click()
    expect(box.locator(".stage")).to_have_class("stage zoomed")
    with grace.expect_download() as download:
        box.get_by_role("button", name="Download").click()
    assert download.value.suggested_filename.endswith(".png")
    grace.keyboard.press("Escape")
    expect(box).to_have_count(0)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["paste", "drop"])
def test_an_image_can_be_pasted_and_dropped(serve: Serve, enter: Enter, how: str) -> None:
    page = enter(serve())
    if how == "drop":  # That can be done from after the first view on.
        expect(page.locator("main input[type=file]")).to_be_attached()
    expect(page.get_by_label("Write to #General")).to_be_visible()
    page.evaluate(HAND_OVER, [how, list(png(90, 60))])
    expect(page.locator(".preview img")).to_have_count(1)
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_role("img", name="Image 1 of 1 from Ada")).to_be_visible()
    expect(page.locator("article.pending")).to_have_count(0)


@pytest.mark.slow
def test_an_image_that_is_seen_large_goes_with_its_message(house: Any, enter: Enter) -> None:
    names = [house.picture(house.general, by="grace").split("/")[-1] for _ in range(2)]
    path = f"/channels/{house.general}/messages"
    both = house.post(path, {"content": "Two", "images": names}, "grace")["message"]["id"]
    page = enter(house.server)
    first = page.get_by_role("article").filter(has_text="Two").get_by_role("img").first
    expect(first).to_have_js_property("naturalWidth", 4)
    first.click()
    box = page.get_by_role("dialog", name="Image")
    expect(box).to_contain_text("1 / 2")
    house.put(f"/messages/{both}", {"content": "Two", "images": names[1:]}, "grace")
    expect(box).not_to_contain_text("/ 2")
    expect(box.get_by_role("img")).to_have_js_property("naturalWidth", 4)
    house.delete(f"/messages/{both}", by="grace")
    expect(box).to_have_count(0)


def test_an_image_that_is_sent_without_a_network_waits_and_arrives(serve: Serve, enter: Enter) -> None:
    page = enter(serve())
    page.locator("main input[type=file]").set_input_files(files("one.png"))
    expect(page.locator(".preview img")).to_have_count(1)
    page.context.set_offline(True)
    page.get_by_label("Write to #General").fill("One picture")
    page.keyboard.press("Enter")
    post = page.get_by_role("article").filter(has_text="One picture")
    expect(post).to_contain_text("Sent when there is a connection")
    assert page.evaluate("Object.keys(localStorage).filter((key) => key.includes('/post/')).length") == 1
    page.context.set_offline(False)
    expect(post.get_by_role("img", name="Image 1 of 1 from Ada")).to_have_js_property("naturalWidth", 90)
    expect(page.locator("article.pending")).to_have_count(0)


def test_an_image_that_is_dropped_where_nothing_can_be_written_is_let_go(serve: Serve, enter: Enter) -> None:
    server = serve()
    with server.client(server.token()) as client:
        [channel] = client.get("/channels").json()["channels"]
        client.delete(f"/channels/{channel['id']}").raise_for_status()
    page = enter(server)
    expect(page.get_by_role("heading", name="No channel yet")).to_be_visible()
    dropped = """() => {
      const data = new DataTransfer();
      data.items.add(new File(["x"], "a.png", { type: "image/png" }));
      const event = new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true });
      return document.querySelector("main").dispatchEvent(event);
    }"""
    page.wait_for_function(f"() => !({dropped})()")  # or the browser would leave the page for the image


@pytest.mark.slow
def test_what_is_no_image_is_not_taken(serve: Serve, enter: Enter) -> None:
    page = enter(serve())
    page.locator("main input[type=file]").set_input_files(
        {"name": "notes.pdf", "mimeType": "application/pdf", "buffer": b"%PDF"}
    )
    expect(page.locator(".toast")).to_contain_text("Only JPG, PNG, WebP and SVG images")
    expect(page.locator(".preview")).to_have_count(0)
    expect(page.get_by_role("button", name="Send")).to_be_disabled()


@pytest.mark.slow
@pytest.mark.parametrize("width", [320, 1280])
def test_a_wide_image_is_seen_whole_in_channel_and_thread(serve: Serve, enter: Enter, width: int) -> None:
    server = serve()
    token = server.token()
    with server.client(token) as client:
        place = client.get("/channels").json()["channels"][0]["id"]
    upload = {"filename": "wide.png", "image": base64.b64encode(png(1600, 200)).decode()}
    name = server.post(f"/channels/{place}/messages/image", upload, token)["filename"]
    body = {"content": "A long coast", "images": [name]}
    message = server.post(f"/channels/{place}/messages", body, token)["message"]["id"]
    page = enter(server, viewport={"width": width, "height": 700})
    shown = page.get_by_role("img", name="Image 1 of 1 from Ada")
    for part in ("main", "aside"):
        if part == "aside":
            page.evaluate("(hash) => { location.hash = hash; }", f"#/channel/{place}/thread/{message}")
        image = page.locator(part).locator(shown)
        expect(image).to_have_js_property("naturalWidth", 1600)
        expect(page.locator(f"{part} .image.loaded")).to_be_visible()
        box = image.bounding_box()
        assert box is not None
        assert abs(box["width"] / box["height"] - 8) < 0.5
        assert box["x"] + box["width"] <= width
