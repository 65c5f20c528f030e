"""IMG-DM: the images of a conversation are seen by its two participants alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from teamchat_conformance.checks.images._area import area
from teamchat_conformance.checks.images.uploads import (
    UPLOADED,
    channel_images,
    direct_images,
    gives,
    judges_images,
    time_in,
    upload,
)
from teamchat_conformance.checks.steps import at, unknown
from teamchat_conformance.expect import text
from teamchat_conformance.fixtures.images import jpeg, png

if TYPE_CHECKING:
    from teamchat_conformance.run import Run

area.required(
    "IMG-DM-01", "§4 Images", "A participant sends an image to a conversation, and it is given a name"
)
area.required("IMG-DM-02", "§4 Images", "Both participants get its bytes and its type")
area.required("IMG-DM-03", "§4 Images", "Another user may not get it")
area.required("IMG-DM-04", "§4 Images", "An admin who takes no part may not get it")
area.required("IMG-DM-05", "§4 Images", "No path of a channel or of another conversation leads to it")
area.required("IMG-DM-06", "§4 Images", "Nobody else sends images to a conversation")
area.required("IMG-DM-07", "§7", "A conversation that is not there has no images and takes none")
area.required("IMG-DM-08", "§4 Images", "size=thumb gives a participant the thumbnail")
area.required("IMG-DM-09", "§4 Images", "A conversation's images are judged as a channel's are")


@area.scenario("IMG-DM-01", "IMG-DM-02", "IMG-DM-03", "IMG-DM-04", "IMG-DM-05", "IMG-DM-08")
async def a_private_image(run: Run) -> None:
    conversation = await run.conversation(run.u, run.v)
    target, image, thumbnail = direct_images(conversation), png(f"private {run.id}"), jpeg(run.id)
    answer = await upload(run.u, target, image, thumbnail=thumbnail)
    with run.verdict("IMG-DM-01"):
        time_in(answer.expect(200).shape(UPLOADED)["filename"], "png")
    filename = answer.shape({"filename": text})["filename"]
    place = f"{target}{at(filename)}"
    with run.verdict("IMG-DM-02"):
        for participant in (run.u, run.v):
            await gives(participant, place, image, "image/png")
    with run.verdict("IMG-DM-08"):
        await gives(run.v, f"{place}?size=thumb", thumbnail, "image/jpeg")
    for id, outsider in (("IMG-DM-03", run.w), ("IMG-DM-04", run.a)):
        with run.verdict(id):
            (await outsider.get(place)).error(403, accept=(404,))
            (await outsider.get(f"{place}?size=thumb")).error(403, accept=(404,))
    with run.verdict("IMG-DM-05"):
        own = await run.conversation(run.w, run.a)
        channel = await run.channel()
        for detour in (channel_images(channel), channel_images(conversation), direct_images(own)):
            for outsider in (run.w, run.a):
                (await outsider.get(f"{detour}{at(filename)}")).error(404, accept=(400, 403))


@area.scenario("IMG-DM-06", "IMG-DM-07", "IMG-DM-09")
async def images_that_a_conversation_does_not_take(run: Run) -> None:
    target = direct_images(await run.conversation(run.u, run.v))
    with run.verdict("IMG-DM-06"):
        for outsider in (run.w, run.a):
            (await upload(outsider, target, png())).error(403, accept=(404,))
    with run.verdict("IMG-DM-07"):
        nowhere = direct_images(unknown(run))
        (await upload(run.u, nowhere, png())).error(404, accept=(400, 403))
        (await run.u.get(f"{nowhere}/1700000000000-nothing.png")).error(404, accept=(400, 403))
    with run.verdict("IMG-DM-09"):
        await judges_images(run.u, target)
