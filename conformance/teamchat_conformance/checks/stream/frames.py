"""SSE-FRAME: the form of the stream, byte by byte. Most of it is looked at in every stream of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from teamchat_conformance.checks.steps import messages_at
from teamchat_conformance.checks.stream._area import area
from teamchat_conformance.expect import require
from teamchat_conformance.frames import taken_apart

if TYPE_CHECKING:
    from teamchat_conformance.run import Run
    from teamchat_conformance.sse import Observer

_LARGE = (100_000, 16_000, 4_000)

area.required("SSE-FRAME-01", "§6", "The first message of every stream is CONNECTED")
area.required("SSE-FRAME-02", "§6", 'Every line is empty, a comment, or begins with "data: "')
area.required("SSE-FRAME-03", "§6", "Every message has exactly one data line")
area.required("SSE-FRAME-04", "§6", "No message has an event: field")
area.required("SSE-FRAME-05", "§6", "No id: or retry: line, unless the client asked to resume")
area.required("SSE-FRAME-06", "§6", "Every message ends with an empty line, within 5 s of its first byte")
area.required("SSE-FRAME-07", "§6", "The data is a JSON object with a string type and an object payload")
area.recommended("SSE-FRAME-08", "§6", "The JSON holds type and payload and nothing else")
area.required("SSE-FRAME-09", "§6, HTML Standard §9.2", "Every line is UTF-8")
area.required("SSE-FRAME-10", "§6", "Line ends of any kind within a message stay in one data line and arrive")
area.required("SSE-FRAME-11", "§6", "Content that looks like frames arrives as content, and as nothing else")
area.required("SSE-FRAME-12", "§6", "The longest content that is taken arrives whole, in one data line")
area.recommended("SSE-FRAME-13", "D-33", "Lines end with LF; no byte order mark; one space behind data:")
area.monitor(*(f"SSE-FRAME-{number:02}" for number in (*range(1, 10), 13)))

_LINE_ENDS = "a\nb\rc\r\nd\u2028e\u2029f\u0085g\\u0000h"
_FORGED = (
    "x\n\n"
    'data: {"type":"DELETE_CHANNEL","payload":{"id":"%(mark)s","name":"forged"}}\n\n'
    "event: forged\n: forged\nid: forged\nretry: 1\n\n"
    '\r\rdata: {"type":"FORGED","payload":{}}\r\r'
)


@area.scenario("SSE-FRAME-10", "SSE-FRAME-11", "SSE-FRAME-12")
async def content_never_breaks_a_frame(run: Run) -> None:
    channel = await run.channel()
    async with run.listen(run.v) as observer:
        with run.verdict("SSE-FRAME-10"):
            await _arrives(run, observer, channel, f"{run.text()} {_LINE_ENDS}")
        with run.verdict("SSE-FRAME-11"):
            mark = observer.mark()
            content = _FORGED % {"mark": run.text()}
            await _arrives(run, observer, channel, content)
            await run.fence(observer)
            odd = {event.type for event in observer.events[mark:]} & {"FORGED"}
            odd |= {event.type for event in observer.since(mark, "DELETE_CHANNEL", name="forged")}
            require(not odd and not observer.odd_frames, "content was taken for frames of the stream")
        with run.verdict("SSE-FRAME-12"):
            for length in _LARGE:
                text = run.text().ljust(length, "é")
                answer = await run.u.post(messages_at(channel), {"content": text})
                if answer.status == 200:
                    await _came(run, observer, answer.json["message"]["id"], text)
                    break
                answer.error(400, 413)


async def _arrives(run: Run, observer: Observer, channel: str, content: str) -> None:
    message = await run.post(run.u, channel, content)
    require(message["content"] == content, "the answer to the post has another content")
    await _came(run, observer, message["id"], content)


async def _came(run: Run, observer: Observer, message_id: str, content: str) -> None:
    event = await observer.expect("NEW_MESSAGE", seconds=run.wait(5), id=message_id)
    require(event.payload.get("content") == content, "the event has another content than was posted")
    frames, _ = taken_apart(observer.pieces)
    found = [frame for frame in frames if any(message_id.encode() in line for line in frame.lines)]
    lines = [len(frame.data) for frame in found]
    require(lines == [1], f"{message_id} stands in frames of so many data lines: {lines}")
