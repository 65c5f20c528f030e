"""Parts of the client that fail, err or are refused: it is told, and harms nothing else."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.in_the_client import message, palette

from .extensions import REFERENCE, Bring

WITH_ALL_PARTS = True

Serve = Callable[..., Any]

HARMLESS = "export default ({ sidebar }) => { sidebar.add({ label: 'Harmless', run() {} }); };"
FAILING = {
    "org.example.a-broken": "export default () => {",
    "org.example.b-nothing": "export const none = 1;",
    "org.example.c-throwing": "export default () => { throw new Error('thrown'); };",
    "org.example.d-late": "export default async () => { await null; throw new Error('late'); };",
    "org.example.e-hanging": "export default () => new Promise(() => {});",
    "org.example.g-bad-tools": """export default (teamchat) => {
      const fail = () => { throw new Error("failed"); };
      for (const slot of ["messageTools", "messageMarks", "composer", "sidebar", "roomHeader", "palette"]) {
        teamchat[slot].add({ label: fail, run() {} });
        teamchat[slot].add({ label: "Pressed", isFor: () => slot === "sidebar", run: fail });
      }
      teamchat.settings.add({ label: "Bad section", make: fail });
      teamchat.on("NEW_MESSAGE", fail);
      teamchat.onRoom(fail);
      teamchat.load(async () => fail());
    };""",
}


@pytest.mark.slow
def test_parts_that_fail_harm_nothing_else(bring: Bring, serve: Serve, loose: Any) -> None:
    for name, main in FAILING.items():
        bring(name, main)
    bring("org.example.z-harmless", HARMLESS)
    server = serve()
    page, said = loose(f"{server.base}/?access_token={server.token()}")
    expect(page.get_by_role("navigation").get_by_role("button", name="Harmless")).to_be_visible()
    page.get_by_role("navigation").get_by_role("button", name="Pressed").click()
    page.get_by_role("main").get_by_role("textbox").fill("hello")
    page.keyboard.press("Enter")
    expect(message(page, "hello")).to_be_visible()
    message(page, "hello").hover()
    expect(message(page, "hello").get_by_role("button", name="Edit")).to_be_visible()
    page.get_by_role("button", name="Settings", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Bad section").click()
    page.get_by_role("dialog").get_by_role("button", name="Profile").click()
    expect(page.get_by_role("dialog").get_by_role("textbox").first).to_be_visible()
    page.keyboard.press("Escape")
    expect(palette(page, "General").first).to_be_visible()
    for name in ("a-broken", "b-nothing", "c-throwing", "d-late", "g-bad-tools"):
        assert [text for text in said if f"org.example.{name}" in text], (name, said)
    assert not [text for text in said if "z-harmless" in text]


MISTAKEN = """export default ({ addIcon, messageTools, sidebar, t }) => {
  addIcon("drawn", "M12 3v18M3 12h18");
  const icons = ["drawn", "smile", undefined, "late", "late"];
  for (const icon of icons) sidebar.add({ icon, label: t("here"), run() {} });
  sidebar.add({ label: t("gone"), run() {} });
  sidebar.add({ label: t("gone"), run() {} });
  messageTools.add({ label: t("here"), keys: ["s", %s], run() { throw new Error("pressed"); } });
  addIcon("late", "M12 3v18M3 12h18");
};"""


@pytest.mark.slow
def test_mistakes_for_which_nothing_is_missing_are_told_once(bring: Bring, serve: Serve, loose: Any) -> None:
    [told] = re.findall(r"The client's own keys\s+(.*?) go first", REFERENCE.read_text(), re.DOTALL)
    own = re.findall(r"`(\S+)`", told)
    main = MISTAKEN % ", ".join(f'"{key}"' for key in own)
    bring("org.example.mistaken", main, **{"strings/en.json": '{"here": "Here"}'})
    server = serve()
    page, said = loose(f"{server.base}/?access_token={server.token()}")
    page.get_by_role("main").get_by_role("textbox").fill("hello")
    page.keyboard.press("Enter")
    expect(page.get_by_role("navigation").get_by_role("button", name="Here")).to_have_count(5)
    expect(page.get_by_role("navigation").get_by_role("button", name="gone")).to_have_count(2)
    part = "The part of org.example.mistaken in the client"
    assert sorted(text for text in said if "org.example" in text) == sorted(
        [
            f'{part} asks for the icon "late", which the client lacks and addIcon was not given before.',
            f'{part} has no words for "gone" in strings/en.json.',
            *(f"{part} can't have the key \"{key}\", which is the client's own." for key in own),
        ]
    )
    known = page.evaluate("""async () => {
      const { src } = document.querySelector("script[src$='/main.js']");
      return (await import(src.replace("main.js", "view/extensions/registry.js"))).OWN_KEYS;
    }""")
    assert sorted(known) == sorted(own)
    expect(message(page, "hello")).to_be_visible()
    page.keyboard.press("Shift+Tab")
    message(page, "hello").focus()
    page.keyboard.press("e")
    expect(page.get_by_role("textbox", name="Edit the message")).to_be_focused()


REFUSED = """export default (teamchat) => {
  const { api, element, dialog } = teamchat;
  const refused = (where) => () => api.get(api.path`/${where}`);
  const press = (where) => ({ label: where, text: where, icon: "star", act: refused(where) });
  teamchat.addIcon("star", "M12 3v18M3 12h18");
  teamchat.roomHeader.add({ label: "Rows", run() {
    const list = teamchat.list({ label: "Rows" });
    const fail = { label: "fail", text: "fail", act() { throw new Error("failed"); } };
    list.draw([teamchat.row({ id: "1", title: "row", actions: [press("row"), fail] })]);
    dialog({ title: "Rows" }, list.node);
  } });
  teamchat.roomHeader.add({ label: "Messages", run: async (room) => {
    const list = teamchat.messageList({ label: "Messages", actions: () => [press("message")] });
    list.draw((await api.get(api.path`/channels/${room.id}/messages`)).messages);
    dialog({ title: "Messages" }, list.node);
  } });
  teamchat.roomHeader.add({ label: "Menu", run(room, button) {
    teamchat.menu(button, [{ icon: "star", label: "choice", run: refused("menu") }]);
  } });
  teamchat.roomHeader.add({ label: "Notice", run() {
    teamchat.toast("Said", { action: { label: "undo", run: refused("notice") } });
  } });
};"""


@pytest.mark.slow
def test_what_the_server_refuses_is_told_whatever_was_pressed(bring: Bring, serve: Serve, loose: Any) -> None:
    bring("org.example.refused", REFUSED)
    server = serve()
    token = server.token()
    with server.client(token) as client:
        [channel] = client.get("/channels").json()["channels"]
    server.post(f"/channels/{channel['id']}/messages", {"content": "hello"}, token)
    page, said = loose(f"{server.base}/?access_token={token}")
    notices = page.get_by_role("region", name="Notices")
    refusals = notices.get_by_text("There is nothing at this address.")
    pressed = [("Rows", "button", "row"), ("Messages", "button", "message"), ("Menu", "menuitem", "choice")]
    for count, (opener, role, name) in enumerate([*pressed, ("Notice", "button", "undo")], 1):
        page.get_by_role("button", name=opener, exact=True).click()
        page.get_by_role(role, name=name, exact=True).click()
        expect(refusals).to_have_count(count)
        if opener == "Rows":
            page.get_by_role("button", name="fail").click()
        if opener in ("Rows", "Messages"):
            page.keyboard.press("Escape")
    assert [text for text in said if "org.example.refused" in text]


@pytest.mark.slow
def test_a_part_whose_files_are_missing_is_told_of_in_the_console_alone(
    bring: Bring, serve: Serve, loose: Any
) -> None:
    bring("org.example.gone", HARMLESS)
    bring("org.example.there", HARMLESS.replace("Harmless", "There"))
    server = serve()
    page, said = loose("about:blank")
    page.route("**/extensions/org.example.gone/main.js", lambda route: route.fulfill(status=404, body="{}"))
    page.goto(f"{server.base}/?access_token={server.token()}")
    expect(page.get_by_role("navigation").get_by_role("button", name="There")).to_be_visible()
    expect(page.get_by_text("couldn’t be loaded")).to_have_count(0)
    assert [text for text in said if "The part of org.example.gone in the client could not begin" in text]
