"""IMG-UP: what is taken as an image, and what it is called then."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from teamchat_conformance.checks.images._area import area
from teamchat_conformance.checks.images.uploads import (
    PATIENCE,
    SIXTEEN_MEBIBYTES,
    UPLOADED,
    body_of,
    channel_images,
    gives,
    stored,
    time_in,
    time_of,
    upload,
)
from teamchat_conformance.checks.steps import NOT_TEXT, at, each_bad, is_gone, no_failure, together, unknown
from teamchat_conformance.expect import Answered, require
from teamchat_conformance.fixtures.images import FOREIGN, FORMATS, HOSTILE_SVG, encoded, jpeg, png, svg

if TYPE_CHECKING:
    from teamchat_conformance.run import Run

_MEBIBYTE = 1_048_576
_MOST_BYTES = 10 * _MEBIBYTE
_SURELY_ALLOWED = 7_500_000
"""10,000,000 characters of base64, inside every reading of "10 MB"."""
_A_MINUTE = 60_000

area.required("IMG-UP-01", "§4 Images", "A JPEG is taken and given a name")
area.required("IMG-UP-02", "§4 Images", "A PNG is taken and given a name")
area.required("IMG-UP-03", "§4 Images", "A WebP is taken and given a name")
area.required("IMG-UP-04", "§4 Images", "An SVG is taken and given a name")
area.required("IMG-UP-05", "§2 Image", "The name is a time, something random, and the format's extension")
area.required("IMG-UP-06", "§2 Image", "The time in the name is that of the upload")
area.required("IMG-UP-07", "§2 Image", "The same image twice is given two names")
area.required("IMG-UP-08", "§2 Image", "A path or an odd name sent along is refused, or not used")
area.recommended("IMG-UP-09", "D-30", "The extension jpeg is taken; so are capital letters")
area.required("IMG-UP-10", "§2 Image", "Files of other formats are refused with 400")
area.recommended("IMG-UP-11", "D-30", "Bytes that are not what the extension says are refused with 400")
area.required("IMG-UP-12", "§7", "An upload without image is refused with 400")
area.required("IMG-UP-13", "§7", "An upload without filename, or one without extension, is refused with 400")
area.required("IMG-UP-14", "§7", "A filename or image that is no text is refused with 400")
area.required("IMG-UP-15", "§4 Images", "An image that is not base64 is refused with 400")
area.required("IMG-UP-16", "§8", "An image of 10,000,000 characters of base64 is taken")
area.required("IMG-UP-17", "§8", "An image of 16 MiB is refused with 400")
area.recommended("IMG-UP-18", "D-30", "The border is at 10 × 1,048,576 bytes after decoding")
area.required("IMG-UP-19", "§7", "An upload to a channel that is not there is refused with 404")
area.required("IMG-UP-20", "§4 Images", "multipart/form-data is refused with 400 or 415")
area.required("IMG-UP-21", "§4 Images", "A thumbnail may come along")
area.recommended("IMG-UP-22", "D-30", "A thumbnail is judged as the image is; both may begin as a data: URL")
area.required("IMG-UP-23", "§2 Image", "Ten uploads at once are ten images, each with its own bytes")
area.recorded("IMG-UP-24", "§2 Image", "Whether an SVG that does something is refused, cleaned or kept")


@area.scenario("IMG-UP-01", "IMG-UP-02", "IMG-UP-03", "IMG-UP-04", "IMG-UP-05", "IMG-UP-06", "IMG-UP-07")
async def images_of_every_format(run: Run) -> None:
    target = channel_images(await run.channel())
    numbered = {"IMG-UP-01": "jpg", "IMG-UP-02": "png", "IMG-UP-03": "webp", "IMG-UP-04": "svg"}
    taken: list[tuple[str, Answered]] = []
    for id, extension in numbered.items():
        answer = await upload(run.u, target, FORMATS[extension][0](), f"picture.{extension}")
        with run.verdict(id):
            answer.expect(200).shape(UPLOADED)
            taken.append((extension, answer))
    require(taken, "no image was taken")
    for extension, answer in taken:
        filename = answer.json["filename"]
        with run.verdict("IMG-UP-05"):
            time_in(filename, *(("jpg", "jpeg") if extension == "jpg" else (extension,)))
        with run.verdict("IMG-UP-06"):
            off = abs(time_in(filename) - time_of(answer))
            require(off < _A_MINUTE, f"the time in {filename} is {off} ms off the upload's")
        with run.verdict("IMG-UP-07"):
            again = await upload(run.u, target, FORMATS[extension][0](), f"picture.{extension}")
            require(
                again.shape(UPLOADED)["filename"] != filename, "the same image was given the same name twice"
            )


@area.scenario("IMG-UP-08", "IMG-UP-09", "IMG-UP-13")
async def names_sent_along(run: Run) -> None:
    target = channel_images(await run.channel())
    with run.verdict("IMG-UP-08"):
        for name in ("../../x.png", "a/b.png", "c:\\x.png", "x" * 300 + ".png", ".png", "a\0b.png"):
            answer = await upload(run.u, target, png(), name)
            if answer.status == 200:
                filename = answer.shape(UPLOADED)["filename"]
                time_in(filename, "png")
                await gives(run.u, f"{target}{at(filename)}", png())
            else:
                answer.error(400)
    with run.verdict("IMG-UP-09"):
        await gives(run.u, await stored(run.u, target, jpeg(), "x.jpeg"), jpeg(), "image/jpeg")
        for name, data in (("x.JPG", jpeg()), ("x.Png", png())):
            (await upload(run.u, target, data, name)).expect(200, accept=(400,))
    with run.verdict("IMG-UP-13"):
        names: list[dict[str, str]] = [
            {},
            {"filename": ""},
            {"filename": "picture"},
            {"filename": "picture."},
        ]
        await each_bad(
            lambda body: run.u.post(target, body), [{"image": encoded(png()), **name} for name in names]
        )


@area.scenario("IMG-UP-10", "IMG-UP-11", "IMG-UP-12", "IMG-UP-14", "IMG-UP-15", "IMG-UP-19", "IMG-UP-20")
async def what_is_no_image_is_refused(run: Run) -> None:
    target = channel_images(await run.channel())
    with run.verdict("IMG-UP-10"):
        for extension, data in FOREIGN.items():
            (await upload(run.u, target, data, f"file.{extension}")).error(400, accept=(415,))
    with run.verdict("IMG-UP-11"):
        for name, data in (
            ("x.png", FOREIGN["html"]),
            ("x.jpg", png()),
            ("x.svg", png()),
            ("x.webp", b"RIFF"),
        ):
            (await upload(run.u, target, data, name)).error(400, accept=(415,))
    refused = {
        "IMG-UP-12": [{}, {"image": ""}],
        "IMG-UP-14": [{"image": value} for value in NOT_TEXT],
        "IMG-UP-15": [
            {"image": value} for value in ("no base64!", "AAAAA", encoded(png())[:-4] + "*_-\u00e9")
        ],
    }
    for id, images in refused.items():
        with run.verdict(id):
            bodies = [{"filename": "x.png", **image} for image in images]
            if id == "IMG-UP-14":
                bodies += [{"filename": value, "image": encoded(png())} for value in NOT_TEXT]
            await each_bad(lambda body: run.u.post(target, body), bodies)
    with run.verdict("IMG-UP-19"):
        is_gone(await upload(run.u, channel_images(unknown(run)), png()))
    with run.verdict("IMG-UP-20"):
        kind = [("Content-Type", "multipart/form-data; boundary=part")]
        part = b'--part\r\nContent-Disposition: form-data; name="image"; filename="x.png"\r\n\r\n'
        sent = part + png() + b"\r\n--part--\r\n"
        (await run.u.post(target, raw=sent, headers=kind)).error(400, 415)


@area.scenario("IMG-UP-16", "IMG-UP-17", "IMG-UP-18")
async def large_images(run: Run) -> None:
    target = channel_images(await run.channel())
    with run.verdict("IMG-UP-16"):
        large = png(size=_SURELY_ALLOWED)
        await gives(run.v, await stored(run.u, target, large), large, "image/png")
    with run.verdict("IMG-UP-17"):
        (await upload(run.u, target, png(size=SIXTEEN_MEBIBYTES))).error(400, accept=(413,))
    with run.verdict("IMG-UP-18"):
        (await upload(run.u, target, png(size=_MOST_BYTES))).expect(200)
        (await upload(run.u, target, png(size=_MOST_BYTES + 1))).error(400, accept=(413,))


@area.scenario("IMG-UP-21", "IMG-UP-22")
async def thumbnails(run: Run) -> None:
    target = channel_images(await run.channel())
    with run.verdict("IMG-UP-21"):
        (await upload(run.u, target, png(), thumbnail=jpeg())).expect(200).shape(UPLOADED)
    with run.verdict("IMG-UP-22"):
        body = body_of(png())
        thumbnails: tuple[Any, ...] = ("no base64!", 1, {}, encoded(svg()), encoded(FOREIGN["gif"]))
        await each_bad(
            lambda body: run.u.post(target, body), [{**body, "thumbnail": one} for one in thumbnails]
        )
        heavy = await upload(run.u, target, png(), thumbnail=png(size=12 * _MEBIBYTE))
        heavy.error(400, accept=(413,))
        prefixed = f"data:image/png;base64,{body['image']}"
        answer = await run.u.post(
            target, {**body, "image": prefixed, "thumbnail": prefixed}, seconds=PATIENCE
        )
        filename = answer.expect(200).shape(UPLOADED)["filename"]
        await gives(run.u, f"{target}{at(filename)}", png())


@area.scenario("IMG-UP-23")
async def ten_uploads_at_once(run: Run) -> None:
    target = channel_images(await run.channel())
    with run.verdict("IMG-UP-23"):
        images = [png(mark=f"{run.id} {n}") for n in range(10)]
        people = (run.u, run.v)
        answers = await together(*(upload(people[n % 2], target, one) for n, one in enumerate(images)))
        filenames = [answer.expect(200).shape(UPLOADED)["filename"] for answer in answers]
        require(len(set(filenames)) == 10, f"ten uploads at once were given {len(set(filenames))} names")
        for filename, image in zip(filenames, images, strict=True):
            await gives(run.w, f"{target}{at(filename)}", image)


@area.scenario("IMG-UP-24")
async def images_that_do_something(run: Run) -> None:
    target = channel_images(await run.channel())
    seen: dict[str, str] = {}
    for what, data in HOSTILE_SVG.items():
        answer = no_failure(await upload(run.u, target, data, "picture.svg"))
        if answer.status != 200:
            seen[what] = f"refused with {answer.status}"
            continue
        kept = await run.v.get(f"{target}{at(answer.shape(UPLOADED)['filename'])}")
        seen[what] = "kept as it is" if kept.body == data else "cleaned"
    run.record("IMG-UP-24", seen)
