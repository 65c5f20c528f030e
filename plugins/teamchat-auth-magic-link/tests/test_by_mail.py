"""Magic links as people meet them: a real server, a mail, and the link in it."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from teamchat.testing import ADMIN, mailed
from tests.harness import running

BOB = "bob+chat@example.org"
APP_URL = "https://example.org/chat"


async def test_from_asking_for_a_link_to_being_signed_in(tmp_path: Path) -> None:
    auth = {"authMode": "magic-link", "isInviteRequired": True, "appUrl": APP_URL}
    mails = tmp_path / "data" / "mails"
    async with running(tmp_path, auth=auth, email={"backend": "files"}) as server, server.client() as client:
        for email in ("nobody@example.org", ADMIN):
            assert (await client.post("/auth/login", json={"email": email})).status_code == 200
        link = (await mailed(mails, ADMIN)).link
        assert link.startswith(f"{APP_URL}/?token=")
        query = parse_qs(urlsplit(link).query)
        assert query["email"] == [ADMIN]
        headers = {"Authorization": f"Bearer {query['token'][0]}"}
        answer = await client.post("/auth/verify", json={"email": ADMIN}, headers=headers)
        assert answer.status_code == 200, answer.text
        again = await client.post("/auth/verify", json={"email": ADMIN}, headers=headers)
        assert again.status_code == 400

        async with server.client(answer.json()["accessToken"]) as admin:
            assert (await admin.get("/auth/me")).json()["user"]["email"] == ADMIN
            assert (await admin.post("/users/add", json={"email": BOB})).status_code == 200
        await client.post("/auth/login", json={"email": BOB.upper()})
        query = parse_qs(urlsplit((await mailed(mails, BOB)).link).query)
        headers = {"Authorization": f"Bearer {query['token'][0]}"}
        answer = await client.post("/auth/verify", json={"email": query["email"][0]}, headers=headers)
        assert answer.status_code == 200, answer.text
        assert await server.end() == 0
    assert len(list(mails.glob("*.eml"))) == 2, "one to the admin, one to Bob, none to nobody"
