"""Faces over HTTP: how long browsers keep one, and what is told of one that is not there (L-3)."""

from __future__ import annotations

import base64
import io
from pathlib import Path

import pytest
from PIL import Image
from teamchat_profiles import PROFILES

from tests.capabilities.serving import served
from tests.web.client import Client

FOR_GOOD, ASKED_EACH_TIME = "private, max-age=31536000, immutable", "private, no-cache"


def picture(*colours: str, kind: str = "PNG") -> str:
    """Return a picture, which moves if there are several colours."""
    first, *others = [Image.new("RGB", (96, 64), colour) for colour in colours]
    written = io.BytesIO()
    moving = {"save_all": True, "append_images": others, "duration": 100} if others else {}
    first.save(written, kind, **moving)
    return base64.b64encode(written.getvalue()).decode()


async def set_face(client: Client, image: str) -> str:
    """Set somebody's picture; return the version that it has."""
    answer = await client.call("PUT", "/me/avatar", {"image": image})
    assert answer.status == 200, answer.body
    return str(answer.json()["user"]["avatarVersion"])


async def test_a_face_is_kept_for_good_under_its_version_and_asked_for_without(tmp_path: Path) -> None:
    async with served(tmp_path, PROFILES) as here:
        ada, bob = await here.user(), await here.user("bob@example.org")
        address = f"/users/{(await ada.call('GET', '/me')).json()['user']['id']}/avatar"
        version = await set_face(ada, picture("red"))

        for query, lasting in (
            ("", ASKED_EACH_TIME),
            (f"?v={version}", FOR_GOOD),
            (f"?size=512&v={version}", FOR_GOOD),
            ("?v=another", ASKED_EACH_TIME),
        ):
            found = await bob.call("GET", address + query)
            assert found.status == 200
            assert found.headers["cache-control"] == lasting
            assert found.headers["content-type"] == "image/webp"
            again = await bob.call("GET", address + query, headers=[("if-none-match", found.headers["etag"])])
            assert (again.status, again.body) == (304, b"")
            assert again.headers["cache-control"] == lasting
            assert again.headers["etag"] == found.headers["etag"]
        tags = {(await bob.call("GET", f"{address}?size={size}")).headers["etag"] for size in (64, 128, 512)}
        assert len(tags) == 3, "each size has its own"


async def test_after_a_change_what_was_kept_is_not_the_face_any_more(tmp_path: Path) -> None:
    async with served(tmp_path, PROFILES) as here:
        ada, bob = await here.user(), await here.user("bob@example.org")
        address = f"/users/{(await ada.call('GET', '/me')).json()['user']['id']}/avatar"
        before = await set_face(ada, picture("red"))
        kept = await bob.call("GET", address)
        known = [("if-none-match", kept.headers["etag"])]
        after = await set_face(ada, picture("blue"))
        assert after != before

        changed = await bob.call("GET", address, headers=known)
        assert changed.status == 200
        assert changed.body != kept.body
        # Under the earlier address there is the new face, which must not stay there for good.
        assert (await bob.call("GET", f"{address}?v={before}")).headers["cache-control"] == ASKED_EACH_TIME
        assert (await bob.call("GET", f"{address}?v={after}")).headers["cache-control"] == FOR_GOOD
        assert await set_face(ada, picture("red")) == before, "the same picture has the same address"
        assert (await ada.call("DELETE", "/me/avatar")).status == 200
        (await bob.call("GET", address, headers=known)).problem(404)


async def test_d03_a_face_that_is_not_there_is_404_whatever_size_is_asked_for(tmp_path: Path) -> None:
    async with served(tmp_path, PROFILES) as here:
        ada = await here.user()
        address = f"/users/{(await ada.call('GET', '/me')).json()['user']['id']}/avatar"
        (await here.anybody.call("GET", f"{address}?size=1")).problem(401)
        for nothing in (address, "/users/0123456789abcdef0123456789abcdef/avatar"):
            (await ada.call("GET", f"{nothing}?size=1")).problem(404)
        await set_face(ada, picture("red"))
        for size in ("1", "", "65", "64.0", "-64"):
            (await ada.call("GET", f"{address}?size={size or '%20'}")).problem(400)


@pytest.mark.parametrize("kind", ["WEBP", "PNG"])
async def test_of_a_picture_that_moves_the_first_one_is_the_face(tmp_path: Path, kind: str) -> None:
    async with served(tmp_path, PROFILES) as here:
        ada = await here.user()
        version = await set_face(ada, picture("red", "blue", "lime", kind=kind))
        me = (await ada.call("GET", "/me")).json()["user"]["id"]
        face = await ada.call("GET", f"/users/{me}/avatar?v={version}")
        with Image.open(io.BytesIO(face.body)) as shown:
            assert getattr(shown, "n_frames", 1) == 1
            red, green, blue = shown.convert("RGB").getpixel((64, 64))  # type: ignore[misc]
        assert red > 200 > 60 > max(green, blue)
