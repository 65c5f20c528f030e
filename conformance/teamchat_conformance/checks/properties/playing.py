"""Plays the steps of a program on the server and on the model, side by side.

What is drawn next depends on the model alone.  A step the server answers otherwise than
the model says fails one check; once that check has failed for good, a program in which it fails again ends
there, and the other checks go on being decided by the rest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from teamchat_conformance.actors import Actor
from teamchat_conformance.checks.properties import comparing, hearing
from teamchat_conformance.checks.properties._area import ODD, Wrong
from teamchat_conformance.checks.properties.shortening import has_sense
from teamchat_conformance.checks.steps import at
from teamchat_conformance.expect import Answered
from teamchat_conformance.model import Step, Told, World
from teamchat_conformance.sse import Observer
from teamchat_conformance.verdicts import Miss

if TYPE_CHECKING:
    from teamchat_conformance.run import Run

_FAMILY = {
    "channel": "PROP-MODEL-01",
    "react": "PROP-MODEL-03",
    "unreact": "PROP-MODEL-03",
    "reply": "PROP-MODEL-04",
    "direct": "PROP-MODEL-05",
    "talk to": "PROP-MODEL-05",
    "webhook": "PROP-MODEL-06",
    "posts": "PROP-MODEL-06",
    "user": "PROP-MODEL-07",
    "rename": "PROP-MODEL-07",
    "exit": "PROP-MODEL-07",
}
_MAKES = frozenset(
    ["make channel", "post", "reply", "talk to", "direct", "make webhook", "webhook posts"],
)
_WRITES = _MAKES - {"talk to"} | {"rename channel", "edit", "edit reply", "edit direct", "rename"}
_REFUSALS = {"refuse": (403, 400, 404), "gone": (404, 400, 401, 403)}


def family(op: str) -> str:
    """Return the check that an operation is about."""
    return _FAMILY.get(op) or _FAMILY.get(op.rpartition(" ")[2]) or "PROP-MODEL-02"


@dataclass
class Program:
    """One program as it is played. `ids` and `tokens` are the server's, by handle; `said` is between two.

    `handles` is the last handle given.  None is given twice, not even after a step that made nothing: it may
    make something when the program is played again with parts left out.
    """

    world: World
    actors: dict[str, Actor]
    marks: dict[str, int]
    ids: dict[int, str] = field(default_factory=dict)
    tokens: dict[int, str] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    told: list[Told] = field(default_factory=list)
    said: list[tuple[str, frozenset[str]]] = field(default_factory=list)
    handles: int = 0
    is_over: bool = False


@dataclass(frozen=True)
class Failure:
    """What was wrong, and the steps that led there."""

    message: str
    steps: list[Step]

    def __str__(self) -> str:
        lines = "".join(f"\n    {step}" for step in self.steps)
        return f"{self.message}\n  the program, A and B being admins (handle := user: what they did):{lines}"


class Player:
    """Plays programs one after the other. `observers` are streams by the names of their users."""

    def __init__(self, run: Run, observers: dict[str, Observer]) -> None:
        self.run = run
        self.observers = observers
        self.failed: dict[str, Failure] = {}
        self.muted: frozenset[str] = frozenset()
        self.number = 0
        self.looked: Counter[str] = Counter()
        self.talks: dict[frozenset[str], str] = {}
        self.program = self._new()
        self._made = run.made()

    def _new(self) -> Program:
        run = self.run
        actors = {"A": run.a, "B": run.b, "U": run.u, "V": run.v, "W": run.w}
        marks = {name: observer.mark() for name, observer in self.observers.items()}
        return Program(World(frozenset("AB"), list(actors)), actors, marks)

    async def begin(self, steps: Sequence[Step] = (Step("make channel", "A"),)) -> None:
        """Begin a program with these steps, those of them that make sense. Raises `Wrong`."""
        await self.run.undo(self._made)
        self.program = self._new()
        for step in steps:
            if has_sense(step, self.program.world):
                await self.play(step)

    async def play(self, step: Step) -> None:
        """Play one step. Raises `Wrong` if something is not as the model says."""
        verdict = self.program.world.judge(step)
        if self.program.is_over or verdict == "open":
            return
        step = self._filled(step)
        try:
            if step.op == "add user" and verdict == "allow":
                await self._add(step)
            else:
                await self._ask(step, verdict)
            await self._look(step, verdict)
        except Miss as miss:
            self.wrong(family(step.op), f"{step}: {miss}")
        except ODD as error:
            self.wrong(family(step.op), f"{step}: an answer of another form than expected ({error!r})")

    async def check(self) -> None:
        """Compare everything, once all events have come. Raises `Wrong`."""
        observers = self.observers.values()
        if self.program.is_over:
            return
        await self.run.fence(*observers)
        await self.run.fence(*observers)
        for found in (await comparing.everything(self), await hearing.everything(self)):
            for check, message in found:
                self.wrong(check, message)

    def wrong(self, check: str, message: str) -> None:
        """Take up that something is wrong: keep the shortest program, and end this one."""
        self.program.is_over = True
        if check in self.muted:
            return
        if check not in self.failed or len(self.program.steps) < len(self.failed[check].steps):
            self.failed[check] = Failure(message, list(self.program.steps))
        raise Wrong(check, message)

    def _filled(self, step: Step) -> Step:
        """Return the step with the text it writes and the handle of what it makes, and note it down."""
        new = step.new or (self.program.handles + 1 if step.op in _MAKES else 0)
        self.program.handles = max(self.program.handles, new)
        filled = replace(step, text=self.run.text() if step.op in _WRITES else "", new=new)
        self.program.steps.append(filled)
        return filled

    async def _add(self, step: Step) -> None:
        self.program.actors[step.word] = await self.run.new_user(name=step.word)
        self._apply(step)

    async def _ask(self, step: Step, verdict: str) -> None:
        answer = await self._request(step)
        self.looked["PROP-MODEL-09"] += 1
        if verdict != "allow":
            if answer.status not in _REFUSALS[verdict]:
                check = "PROP-MODEL-09" if verdict == "refuse" else self._gone_check(step)
                self.wrong(check, f"{step} is to be refused; {answer.miss('it was not')}")
            return
        if answer.status != 200:
            check = "PROP-MODEL-09" if answer.status in (401, 403) else family(step.op)
            self.wrong(check, f"{step} is allowed; {answer.miss('it was not done')}")
            return
        self._learn(step, answer)

    def _gone_check(self, step: Step) -> str:
        world = self.program.world
        place = world.things.get(world.things[step.target].place or step.target)
        dead_channel = place is not None and place.kind == "channel" and not place.is_alive
        return "PROP-MODEL-08" if dead_channel else family(step.op)

    def _learn(self, step: Step, answer: Answered) -> None:
        """Take the ids out of an answer, and let the step happen in the model."""
        if step.op == "talk to":
            self._learn_talk(step, answer)
            return
        if step.new:
            made = next(
                iter(value for value in answer.json.values() if isinstance(value, dict) and "id" in value)
            )
            self.program.ids[step.new] = str(made["id"])
            self._undo_with(step.op, str(made["id"]))
            if "token" in made:
                token = self.run.recorder.secret(str(made["token"]), "webhook token")
                self.program.tokens[step.new] = token
        self._apply(step)

    def _undo_with(self, op: str, id: str) -> None:
        """Have a channel or webhook deleted when its program is over."""
        kind = {"make channel": "channels", "make webhook": "webhooks"}.get(op)
        if kind:
            self.run.undo_with(f"{kind} {id}", lambda: self.run.a.delete(at(kind, id)))

    def _learn_talk(self, step: Step, answer: Answered) -> None:
        told = answer.json
        pair = frozenset({step.actor, step.word})
        key = frozenset(self.program.actors[name].user_id for name in pair)
        id = str(told["conversation"]["id"])
        if key in self.talks and (told["isNew"] or id != self.talks[key]):
            self.wrong("PROP-MODEL-05", f"{step}: the conversation was there, and another was made")
        if not any(
            self.program.world.things[one].pair == pair for one in self.program.world.of("conversation")
        ):
            self.program.ids[step.new] = id
            events = self.program.world.apply(step)
            self.program.told += events if told["isNew"] else []
        self.talks[key] = id

    def _apply(self, step: Step) -> None:
        self.program.told += self.program.world.apply(step)
        thing = self.program.world.things.get(step.new or step.target)
        if step.op in ("direct", "edit direct") and thing is not None:
            self.program.said.append((step.text, self.program.world.things[thing.place].pair))

    async def _look(self, step: Step, verdict: str) -> None:
        """Compare what a step has touched; if it was refused, what it would have."""
        if self.program.is_over:
            return
        for check, message in await comparing.touched(self, step):
            blamed = check if verdict == "allow" else "PROP-MODEL-09"
            self.wrong(blamed, f"after {step}: {message}")

    async def _request(self, step: Step) -> Answered:
        method, target, body = self._form(step)
        asker = self.program.actors[step.actor]
        given = () if body is None else (body,)
        if step.op == "webhook posts":
            return await self.run.n.ask(method, target, *given, token=self.program.tokens[step.target])
        return await asker.ask(method, target, *given)

    def _form(self, step: Step) -> tuple[str, str, dict[str, Any] | None]:
        """Return method, target and body of the request for a step."""
        program, name, content = self.program, {"name": step.text}, {"content": step.text}
        thing = program.world.things.get(step.target)
        it = program.ids.get(step.target, "")
        parent = program.ids.get(thing.parent, "") if thing else ""
        place = program.ids.get(thing.place, "") if thing else ""
        other = program.actors[step.word].user_id if step.word in program.actors else ""
        forms: dict[str, tuple[str, str, dict[str, Any] | None]] = {
            "make channel": ("POST", "/channels", name),
            "rename channel": ("PUT", at("channels", it), name),
            "delete channel": ("DELETE", at("channels", it), None),
            "post": ("POST", at("channels", it, "messages"), content),
            "edit": ("PUT", at("messages", it), content),
            "delete": ("DELETE", at("messages", it), None),
            "react": ("POST", at("messages", it, "reactions"), {"reaction": step.word}),
            "unreact": ("DELETE", at("messages", it, "reactions"), {"reaction": step.word}),
            "reply": ("POST", at("messages", it, "thread"), content),
            "edit reply": ("PUT", at("messages", parent, "thread", it), content),
            "delete reply": ("DELETE", at("messages", parent, "thread", it), None),
            "talk to": ("POST", "/conversations", {"targetUserId": other}),
            "direct": ("POST", at("conversations", it, "messages"), content),
            "edit direct": ("PUT", at("conversations", place, "messages", it), content),
            "delete direct": ("DELETE", at("conversations", place, "messages", it), None),
            "make webhook": ("POST", "/webhooks", {**name, "channelId": it}),
            "delete webhook": ("DELETE", at("webhooks", it), None),
            "webhook posts": ("POST", at("webhooks", it, "messages"), content),
            "add user": ("POST", "/users/add", {"email": self.run.email(), "role": "user"}),
            "rename": ("PUT", "/users/me", {"userName": step.text}),
            "remove user": ("DELETE", at("users", other), None),
            "exit": ("POST", "/users/exit", None),
        }
        return forms[step.op]
