"""IMG-GET, IMG-THR, IMG-REF: images come back as they were sent, harmless, and from their place alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from teamchat_conformance.checks.images._area import area
from teamchat_conformance.checks.images.uploads import (
    UPLOADED,
    channel_images,
    gives,
    judges_images,
    stored,
    time_in,
    upload,
)
from teamchat_conformance.checks.signing_in import inapplicable
from teamchat_conformance.checks.steps import (
    at,
    is_gone,
    message,
    messages,
    messages_at,
    no_failure,
    no_trace,
    summary,
    unchanged,
    unknown,
)
from teamchat_conformance.expect import Answered, require, text, told
from teamchat_conformance.fixtures.images import FORMATS, jpeg, png, svg, type_of

if TYPE_CHECKING:
    from teamchat_conformance.run import Run

_TRAVERSALS = (
    "..%2f..%2f..%2f..%2f..%2fetc%2fpasswd",
    "..%5c..%5c..%5c..%5cetc%5cpasswd",
    "%2e%2e/%2e%2e/%2e%2e/%2e%2e/%2e%2e/etc/passwd",
    "%252e%252e%252f%252e%252e%252fetc%252fpasswd",
    "%2fetc%2fpasswd",
    "..%2f..%2fetc%2fpasswd%00.png",
    "..%c0%af..%c0%afetc%c0%afpasswd",
    "c:%5cwindows%5cwin.ini",
    "..%2fconfig.json",
    "..%2f..%2fconfig.json",
    "..%2f..%2fpackage.json",
    "..%2f..%2fpyproject.toml",
    "..%2f..%2fchat.db",
    "..%2f..%2f.env",
    "%2e",
    "%2e%2e",
)
_MOST_IMAGES = 10
_ORIGINS = ("same-origin", "same-site", "cross-origin")
_MARKS_OF_FILES = (
    "root:x:",
    "root:*:",
    "[fonts]",
    "SQLite format 3",
    "jwtSecret",
    "[project]",
    '"dependencies"',
)

area.required("IMG-GET-01", "§4 Images", "Others get the very bytes of a JPEG, PNG, WebP")
area.required("IMG-GET-02", "§4 Images", "Each comes with its media type")
area.required("IMG-GET-03", "§4 Images", "An SVG comes back as it was sent, or cleaned and still an SVG")
area.required("IMG-GET-04", "§4 Images", "size=thumb gives the thumbnail's bytes")
area.required("IMG-GET-05", "§4 Images", "A thumbnail comes with the type of its own bytes")
area.recommended("IMG-GET-06", "D-31", "size=thumb gives the image where no thumbnail was stored")
area.recorded("IMG-GET-07", "§4 Images", "What an unknown size, or two of them, gives")
area.required("IMG-GET-08", "§7", "A name that no image has is refused with 404")
area.required("IMG-GET-09", "§7", "No name leads to another file of the server's")
area.required("IMG-GET-10", "§2 Image", "An image is not found under another channel's id")
area.recommended(
    "IMG-GET-11", "D-31", "Images have length, ETag and a private cache; HEAD and conditions work"
)
area.recommended("IMG-GET-12", "D-31", "No browser is to guess at the type of an image")
area.recommended("IMG-GET-13", "D-31", "A script within an SVG is kept from running")
area.recommended("IMG-GET-14", "D-31", "Images say which origins may embed them")
area.required("IMG-THR-01", "§4 Images", "An image is sent to a thread and given a name")
area.required("IMG-THR-02", "§2 Image", "A thread's image is fetched through its channel")
area.required("IMG-THR-03", "§7", "An image for a thread that is not there is refused with 404")
area.required("IMG-THR-04", "§4 Images", "A thread's images are judged as a channel's are")
area.recommended(
    "IMG-REF-01", "D-25", "A message names its images, of its own channel alone, and they are listed"
)
area.required("IMG-REF-02", "D-25", "The images of a deleted message are gone")
area.recommended("IMG-REF-03", "D-25", "A message names ten images, and one with eleven is refused with 400")


@area.scenario("IMG-GET-01", "IMG-GET-02", "IMG-GET-03", "IMG-GET-12", "IMG-GET-13", "IMG-GET-14")
async def images_come_back(run: Run) -> None:
    target = channel_images(await run.channel())
    where = {name: await stored(run.u, target, make(), f"x.{name}") for name, (make, _) in FORMATS.items()}
    with run.verdict("IMG-GET-01"):
        for extension in ("jpg", "png", "webp"):
            await gives(run.v, where[extension], FORMATS[extension][0]())
    answers = {extension: (await run.v.get(place)).expect(200) for extension, place in where.items()}
    with run.verdict("IMG-GET-02"):
        for extension, answer in answers.items():
            wanted = FORMATS[extension][1]
            require(answer.media_type == wanted, f"a {extension} comes as {answer.media_type}, not {wanted}")
    with run.verdict("IMG-GET-03"):
        require(
            answers["svg"].body == svg() or b"<svg" in answers["svg"].body,
            "the SVG came back as something else",
        )
    with run.verdict("IMG-GET-12"):
        for extension, answer in answers.items():
            guard = (answer.header("x-content-type-options") or "").lower()
            require(guard == "nosniff", f"a {extension} comes with X-Content-Type-Options {guard!r}")
    with run.verdict("IMG-GET-13"):
        _is_harmless(answers["svg"])
    with run.verdict("IMG-GET-14"):
        for extension, answer in answers.items():
            policy = answer.header("cross-origin-resource-policy")
            require(policy in _ORIGINS, f"a {extension} comes with Cross-Origin-Resource-Policy {policy!r}")


def _is_harmless(answer: Answered) -> None:
    policy = (answer.header("content-security-policy") or "").lower()
    directives = {name: rest for name, _, rest in (part.strip().partition(" ") for part in policy.split(";"))}
    scripts = directives.get("script-src", directives.get("default-src", "*")).strip()
    in_a_sandbox = "sandbox" in directives and "allow-scripts" not in directives["sandbox"]
    is_download = (answer.header("content-disposition") or "").lower().startswith("attachment")
    if not (scripts == "'none'" or in_a_sandbox or is_download):
        raise answer.miss("nothing keeps a script within an SVG from running")


@area.scenario("IMG-GET-04", "IMG-GET-05", "IMG-GET-06", "IMG-GET-07")
async def thumbnails_come_back(run: Run) -> None:
    target = channel_images(await run.channel())
    image = png("large")
    places = {thumb: await stored(run.u, target, image, thumbnail=thumb) for thumb in (jpeg(), png("small"))}
    with run.verdict("IMG-GET-04"):
        for thumbnail, place in places.items():
            await gives(run.v, f"{place}?size=thumb", thumbnail)
            await gives(run.v, place, image)
    with run.verdict("IMG-GET-05"):
        for thumbnail, place in places.items():
            answer = (await run.v.get(f"{place}?size=thumb")).expect(200)
            wanted = type_of(thumbnail)
            require(answer.media_type == wanted, f"a thumbnail comes as {answer.media_type}, and is {wanted}")
    with run.verdict("IMG-GET-06"):
        await gives(run.v, f"{await stored(run.u, target, image)}?size=thumb", image)
    place = next(iter(places.values()))
    queries = ("size=other", "size=", "size=thumb&size=other")
    seen = {query: no_failure(await run.v.get(f"{place}?{query}")) for query in queries}
    run.record("IMG-GET-07", {query: _which(answer, image) for query, answer in seen.items()})


def _which(answer: Answered, image: bytes) -> str:
    if answer.status != 200:
        return summary(answer)
    return "the image" if answer.body == image else "the thumbnail"


@area.scenario("IMG-GET-08", "IMG-GET-09", "IMG-GET-10")
async def other_names_lead_nowhere(run: Run) -> None:
    channel, other = await run.channel(), await run.channel()
    target, image = channel_images(channel), png(run.id)
    filename = (await upload(run.u, target, image)).expect(200).shape(UPLOADED)["filename"]
    time_before = int(filename[:13]) - 1 if filename[:13].isdigit() else 0
    with run.verdict("IMG-GET-08"):
        (await run.u.get(f"{target}/{time_before}-nothing{run.id}.png")).error(404)
    with run.verdict("IMG-GET-09"):
        for name in _TRAVERSALS:
            answer = await run.u.get(f"{target}/{name}")
            no_trace(answer, *_MARKS_OF_FILES)
            answer.expect(400, 404)
    with run.verdict("IMG-GET-10"):
        astray = await run.u.get(f"{channel_images(other)}{at(filename)}")
        astray.error(404, accept=(403,))


@area.scenario("IMG-GET-11")
async def images_are_kept_by_browsers(run: Run) -> None:
    place = await stored(run.u, channel_images(await run.channel()), png())
    with run.verdict("IMG-GET-11"):
        whole = (await run.v.get(place)).expect(200)
        head = (await run.v.ask("HEAD", place)).expect(200)
        require(not head.body, "HEAD has a body")
        for name in ("content-type", "content-length", "etag"):
            require(head.header(name) == whole.header(name), f"GET and HEAD differ in {name}")
        require(whole.header("content-length") == str(len(png())), "Content-Length is not the image's length")
        cached = (whole.header("cache-control") or "").lower()
        require(
            "private" in cached or "no-store" in cached, f"Cache-Control is {cached!r}: others may keep it"
        )
        require("immutable" in cached, f"Cache-Control is {cached!r}, not immutable")
        tag = whole.header("etag")
        require(tag, "an image has no ETag")
        (await run.v.get(place, headers=[("If-None-Match", tag or "")])).expect(304, accept=(200,))
        (await run.v.get(place, headers=[("Range", "bytes=0-3")])).expect(200, 206)


@area.scenario("IMG-THR-01", "IMG-THR-02", "IMG-THR-03", "IMG-THR-04")
async def images_in_threads(run: Run) -> None:
    channel = await run.channel()
    parent = (await run.post(run.v, channel))["id"]
    target = at("messages", parent, "thread", "image")
    answer = await upload(run.u, target, png(run.id))
    with run.verdict("IMG-THR-01"):
        time_in(answer.expect(200).shape(UPLOADED)["filename"], "png")
    filename = answer.shape({"filename": text})["filename"]
    with run.verdict("IMG-THR-02"):
        await gives(run.v, f"{channel_images(channel)}{at(filename)}", png(run.id), "image/png")
    with run.verdict("IMG-THR-03"):
        is_gone(await upload(run.u, at("messages", unknown(run), "thread", "image"), png()))
    with run.verdict("IMG-THR-04"):
        await judges_images(run.u, target)


@area.scenario("IMG-REF-01", "IMG-REF-02")
async def messages_with_images(run: Run) -> None:
    channel, other = await run.channel(), await run.channel()
    place = await stored(run.u, channel_images(channel), png(run.id))
    elsewhere = await stored(run.u, channel_images(other), png(run.id))
    filename, foreign = place.rpartition("/")[2], elsewhere.rpartition("/")[2]
    with run.verdict("IMG-REF-01"):
        foreign_body = {"content": run.text(), "images": [foreign]}
        (await run.u.post(messages_at(channel), foreign_body)).error(400)
        answer = await run.u.post(messages_at(channel), {"content": "", "images": [filename]})
        answer.expect(200).shape({"message": {"images": [filename]}})
    answer = await run.u.post(messages_at(channel), {"content": run.text(), "images": [filename]})
    posted = answer.expect(200).shape({"message": {"id": text}})["message"]
    with run.verdict("IMG-REF-01"):
        listed = (await message(run.v, channel, posted["id"])).get("images")
        require(listed == [filename], f"the list has images {listed!r}, not [{filename!r}]")
    with run.verdict("IMG-REF-02"):
        alone = await stored(run.u, channel_images(channel), png())
        body = {"content": run.text(), "images": [alone.rpartition("/")[2]]}
        deleted = told(await run.u.post(messages_at(channel), body), "message")
        if "images" not in deleted:
            inapplicable(run, "messages of this server name no images", "IMG-REF-02")
            return
        await gives(run.v, alone, png())
        (await run.u.delete(at("messages", deleted["id"]))).expect(200)
        (await run.v.get(alone)).error(404)


@area.scenario("IMG-REF-03")
async def as_many_images_as_one_may_name(run: Run) -> None:
    channel = await run.channel()
    places = [await stored(run.u, channel_images(channel), png(run.id)) for _ in range(_MOST_IMAGES + 1)]
    names = [place.rpartition("/")[2] for place in places]
    with run.verdict("IMG-REF-03"):
        async with unchanged(lambda: messages(run.v, channel)):
            body = {"content": run.text(), "images": names}
            (await run.u.post(messages_at(channel), body)).error(400)
        ten = names[:_MOST_IMAGES]
        posted = told(
            await run.u.post(messages_at(channel), {"content": run.text(), "images": ten}), "message"
        )
        require(posted.get("images") == ten, "the answer has other images than the ten that were named")
        listed = await message(run.v, channel, posted["id"])
        require(listed.get("images") == ten, "the list has other images than the ten that were named")
