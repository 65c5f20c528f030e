"""Messages that are for everybody in their place, or for everybody who follows their thread (E-5).

There is one row for it, however many they are; who they are is looked up when somebody asks.
"""

from __future__ import annotations

from collections.abc import Sequence

from teamchat.interfaces import Transaction
from teamchat.storage.statements import chunks

# Whom it concerns were members then: as `Place.of` has it, from where it is stored that they began. Who got
# their account in the millisecond of a message is told by the ids, where these are of that time.
CONCERNS = """w.author_id <> u.id and case
  when w.parent_id is not null then exists (select 1 from threads_states s
    where s.user_id = u.id and s.message_id = w.parent_id and s.is_following = 1 and s.since < w.message_id)
  when mine.user_id is null and (r.is_default = 0 or exists
    (select 1 from departures d where d.room_id = w.room_id and d.user_id = u.id)) then false
  when stands.began is not null then w.message_id > stands.began
  when r.is_default = 1 then w.message_id > coalesce(rr.default_base, '') and exists (select 1
    from messages x where x.id = w.message_id and (x.created_at > u.created_at or (x.created_at = u.created_at
      and (x.id > u.id or substr(x.id, 1, 12) <> substr(u.id, 1, 12)))))
  else mine.joined_at <= (select x.created_at from messages x where x.id = w.message_id)
    or (mine.since_epoch <= rr.first_epoch and w.message_id > rr.base) end
and not exists (select 1 from notification_levels n
  where n.user_id = u.id and n.room_id = w.room_id and n.ignores_wide = 1)"""
"""The condition that what the row `w` of `read_state_wide` is of concerns the user `u`; after `JOINED`."""
JOINED = """join rooms r on r.id = w.room_id
left join memberships mine on mine.room_id = w.room_id and mine.user_id = u.id
left join read_state_rooms rr on rr.room_id = w.room_id
left join read_state stands on stands.room_id = w.room_id and stands.user_id = u.id"""
_AMONG = f"""select u.id from read_state_wide w join users u on u.id in ({{}}) {JOINED}
where w.message_id = $1 and {CONCERNS}"""  # noqa: S608
_BUT = f"""select u.id from read_state_wide w join users u on u.removed_at is null {JOINED}
where w.message_id = $1 and (mine.user_id is not null or r.is_default = 1) and not ({CONCERNS})
order by u.id"""  # noqa: S608


async def concerned(tx: Transaction, message_id: str, user_ids: Sequence[str]) -> set[str]:
    """Return which of these users a message concerns that is for everybody, or was."""
    found: set[str] = set()
    for marks, piece in chunks(user_ids, after=1):
        found |= {user_id for (user_id,) in await tx.fetch(_AMONG.format(marks), message_id, *piece)}
    return found


async def unconcerned(tx: Transaction, message_id: str) -> list[str]:
    """Return the members whom such a message does not concern: its author, who ignores it, who came later."""
    return [user_id for (user_id,) in await tx.fetch(_BUT, message_id)]
