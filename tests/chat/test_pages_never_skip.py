"""Walking back through pages while others post and delete: nothing skipped, nothing twice (decision D-08)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from teamchat.chat import Draft
from teamchat.model.pages import Page

# Between two pages: some posts, and deletions of the n-th (modulo) of what is there.
BETWEEN = st.lists(st.one_of(st.just("post"), st.integers(0, 30)), max_size=4)


class Place:
    """One of the three kinds of lists, as something to post to, delete from and page through."""

    def __init__(self, world, kind, caller, ids):
        self.world, self.kind, self.caller, self.ids = world, kind, caller, ids

    @classmethod
    async def open(cls, world, kind):
        ada, bob = await world.user("Ada", is_admin=True), await world.user("Bob")
        channel = (await world.chat.channels.create(ada, "Talk")).id
        parent = (await world.chat.messages.post(ada, channel, Draft("parent"))).id
        direct = (await world.chat.conversations.open(ada, bob.user.id)).conversation.id
        other = (await world.chat.channels.create(ada, "Noise")).id
        ids = {"channel": channel, "thread": parent, "conversation": direct, "noise": other}
        place = cls(world, kind, ada, ids)
        if kind == "channel":
            await world.chat.messages.delete(ada, parent)
        return place

    async def post(self):
        chat, id_ = self.world.chat, self.ids[self.kind]
        await chat.messages.post(self.caller, self.ids["noise"], Draft("noise"))
        if self.kind == "channel":
            return (await chat.messages.post(self.caller, id_, Draft("x"))).id
        if self.kind == "thread":
            return (await chat.threads.reply(self.caller, id_, Draft("x"))).reply.id
        return (await chat.conversations.post(self.caller, id_, Draft("x"))).id

    async def delete(self, id_):
        await self.world.chat.messages.delete(self.caller, id_)

    async def page(self, limit, before):
        chat = self.world.chat
        part = {"channel": chat.messages, "thread": chat.threads, "conversation": chat.conversations}[
            self.kind
        ]
        page = await part.page(self.caller, self.ids[self.kind], Page(limit, before))
        return [m.id for m in page.messages]


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    kind=st.sampled_from(["channel", "thread", "conversation"]),
    start=st.integers(0, 12),
    limit=st.integers(1, 5),
    changes=st.lists(BETWEEN, max_size=8),
)
async def test_d08_pages_never_skip_or_repeat_whatever_happens_between_them(
    fresh_world, kind, start, limit, changes
):
    async with fresh_world() as world:
        place = await Place.open(world, kind)
        there = [await place.post() for _ in range(start)]
        at_start, deleted = list(there), set()
        changes = iter(changes)
        read, before = [], None
        while page := await place.page(limit, before):
            assert page == sorted(page)
            assert before is None or page[-1] < before
            assert len(page) == min(limit, sum(before is None or id_ < before for id_ in there))
            assert set(page) <= set(there)
            read = page + read
            before = page[0]
            for change in next(changes, []):
                if change == "post":
                    there.append(await place.post())
                elif there:
                    gone = there.pop(change % len(there))
                    deleted.add(gone)
                    await place.delete(gone)
        assert read == sorted(set(read))
        # What was there all along was read; what came later is newer than the first page and was not.
        assert [id_ for id_ in read if id_ not in deleted] == [id_ for id_ in at_start if id_ not in deleted]
