"""Profiles in the web client, in a browser: faces, cards, and one's own."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from playwright.sync_api import Locator, Page, expect

Enter = Callable[..., Page]


def face() -> bytes:
    written = io.BytesIO()
    Image.linear_gradient("L").resize((300, 300)).convert("RGB").save(written, "PNG")
    return written.getvalue()


def profile(page: Page) -> Locator:
    page.get_by_role("button", name="Settings", exact=True).click()
    return page.get_by_role("dialog", name="Settings")


@pytest.mark.slow
def test_a_face_set_here_is_seen_there_at_once_and_so_are_name_and_status(
    talk: Any, enter: Enter, tmp_path: Path
) -> None:
    talk.server.post(f"/channels/{talk.general}/messages", {"content": "hello from Ada"}, talk.ada)
    ada, grace = enter(talk.server), enter(talk.server, "grace@example.org")
    said = grace.get_by_role("main").get_by_role("article").filter(has_text="hello from Ada")
    expect(said.locator(".avatar img")).to_have_count(0)
    picture = tmp_path / "me.png"
    picture.write_bytes(face())
    dialog = profile(ada)
    dialog.locator("input[type=file]").set_input_files(picture)
    expect(dialog.locator(".about-picture .avatar img")).to_be_visible()
    expect(said.locator(".avatar img")).to_be_visible()
    dialog.get_by_label("Full name").fill("Augusta Ada King")
    dialog.get_by_label("Time zone").fill("Europe/London")
    dialog.locator("form").filter(has=ada.get_by_label("Full name")).get_by_role(
        "button", name="Save profile"
    ).click()
    expect(dialog.get_by_role("status").filter(has_text="Saved")).to_be_visible()
    dialog.get_by_label("Emoji of the status").fill("🚆")
    dialog.get_by_label("Status", exact=True).fill("on the train")
    dialog.get_by_role("button", name="Set status").click()

    expect(said.locator(".name")).to_have_attribute("data-status", "🚆", timeout=30_000)
    # Long ones are cut, whatever stands beside the name.
    widths = """it => {
      it.dataset.status = "wide ".repeat(12);
      const width = parseFloat(getComputedStyle(it, "::after").width);
      return width / parseFloat(getComputedStyle(it).fontSize);
    }"""
    assert said.locator(".name").evaluate(widths) <= 4
    said.locator("[data-person]").first.click()
    card = grace.locator("dialog.person, dialog[open]").last
    expect(card).to_contain_text("Augusta Ada King", timeout=30_000)
    expect(card).to_contain_text("on the train", timeout=30_000)
    expect(card).to_contain_text("Their time:")
    grace.keyboard.press("Escape")
    dialog.get_by_role("button", name="Take the picture away").click()
    expect(said.locator(".avatar img")).to_have_count(0, timeout=30_000)
