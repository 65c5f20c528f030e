"""What a plugin's routes may not be: somebody else's. Each is refused at start, by the plugin's name."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest
from flask import Blueprint as FlaskBlueprint
from quart import Blueprint

from teamchat import hookimpl
from teamchat.errors import PluginError
from teamchat.plugins import Plugins
from teamchat.web import Section
from teamchat.web.app import create_app
from tests.test_plugins import Entry
from tests.web.client import Client
from tests.web.conftest import World


def bringing(name: str, *blueprints: Any) -> Entry:
    """Return a plugin that brings these blueprints."""
    module = ModuleType(name)
    module.routes = hookimpl(lambda app: list(blueprints))  # type: ignore[attr-defined]
    return Entry(name, module)


def plain(name: str, *rules: str, methods: tuple[str, ...] = ("GET",)) -> Blueprint:
    """Return a blueprint of Quart's with a view at each rule, which answers with its arguments."""
    blueprint = Blueprint(name, __name__)
    for number, rule in enumerate(rules):

        async def view(**arguments: Any) -> Any:
            return {"plain": arguments}

        blueprint.add_url_rule(rule, f"view_{number}", view, methods=list(methods))
    return blueprint


def declared(name: str, *rules: str, method: str = "GET") -> Section:
    """Return a section with an endpoint at each rule."""
    section = Section(name)
    for number, rule in enumerate(rules):

        async def handler() -> str:
            return "declared"

        handler.__name__ = f"handler_{number}"
        section.endpoint(method, rule, answer=str, open=True)(handler)
    return section


def refusal(world: World, *entries: Entry) -> str:
    """Return how the start of a server with these plugins is refused."""
    plugins = Plugins.load([], entries)
    plugins.require()
    with pytest.raises(PluginError) as caught:
        create_app(world.app, plugins.routes(world.app), plugins)
    return str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize("make", [plain, declared])
@pytest.mark.parametrize(
    ("rule", "other"),
    [
        ("/channels", "/channels"),
        ("/health", "/health"),
        ("/events", "/events"),
        ("/channels/<anything>/messages", "/channels/<channelId>/messages"),
        ("/channels/latest/messages", "/channels/<channelId>/messages"),
        ("/channels/<int:number>/messages", "/channels/<channelId>/messages"),
    ],
)
async def test_a_route_that_is_teamchats_own_is_refused_by_the_plugins_name(
    world: World, make: Any, rule: str, other: str
) -> None:
    told = refusal(world, bringing("lunch", make("lunch", rule)))
    same = "" if rule == other else f" answers the same requests as GET {other}, which"
    assert told.startswith(
        f'The plugin "lunch" (teamchat-lunch 1.2.3) failed: its route GET {rule}{same} '
        "belongs to teamchat itself."
    )
    assert told.endswith('plugins.disabled = ["lunch"]')


@pytest.mark.slow
@pytest.mark.parametrize("first", [plain, declared])
@pytest.mark.parametrize("second", [plain, declared])
@pytest.mark.parametrize("rule", ["/menus/<menuId>", "/menus/<another>", "/menus/today"])
async def test_a_route_of_two_plugins_is_refused_with_both_names(
    world: World, first: Any, second: Any, rule: str
) -> None:
    lunch = bringing("lunch", first("lunch", "/menus/<menuId>"))
    told = refusal(world, lunch, bringing("supper", second("supper", rule)))
    assert told.startswith(f'The plugin "supper" (teamchat-supper 1.2.3) failed: its route GET {rule} ')
    assert 'belongs to the plugin "lunch" (teamchat-lunch 1.2.3). ' in told
    assert told.endswith('plugins.disabled = ["supper"]')


@pytest.mark.parametrize("path", ["/", "/sw.js", "/manifest.webmanifest", "/client/mine/logo.png"])
async def test_a_page_of_the_web_client_is_refused(world: World, path: str) -> None:
    import teamchat_web

    told = refusal(world, Entry("web", teamchat_web), bringing("zen", plain("zen", path)))
    assert f'"zen" (teamchat-zen 1.2.3) failed: its route GET {path} ' in told
    assert 'the plugin "web"' in told


@pytest.mark.parametrize("make", [plain, declared])
@pytest.mark.parametrize("name", ["channels", "health"])
async def test_a_section_or_blueprint_of_a_name_that_teamchat_has_is_refused(
    world: World, make: Any, name: str
) -> None:
    told = refusal(world, bringing("lunch", make(name, "/menus")))
    assert (
        f'"lunch" (teamchat-lunch 1.2.3) failed: its blueprint "{name}" has a name that belongs to '
        "teamchat itself." in told
    )


async def test_a_section_and_a_plain_blueprint_of_one_name_are_refused(world: World) -> None:
    plugins = Plugins.load([], [bringing("lunch", declared("menus", "/a"), plain("menus", "/b"))])
    with pytest.raises(PluginError, match=r'"lunch" .* routes returned "menus" twice'):
        plugins.routes(world.app)
    nested = plain("outer", "/outer")
    nested.register_blueprint(plain("menus", "/b"))
    # A nested one has its parent's name before its own, so this is none of them.
    create_app(world.app, [nested, plain("menus", "/c")])


async def test_two_routes_of_one_plugin_at_one_address_are_refused(world: World) -> None:
    told = refusal(world, bringing("lunch", plain("lunch", "/menus/<a>", "/menus/<b>")))
    assert "its route GET /menus/<b> answers the same requests as GET /menus/<a>, which belongs to " in told


async def test_one_address_may_have_several_methods_of_several_plugins(world: World) -> None:
    blueprints = [
        plain("one", "/menus/<day>"),
        plain("two", "/menus/<name>", methods=("PUT",)),
        declared("three", "/menus/:day", method="DELETE"),
    ]
    site = create_app(world.app, blueprints)
    assert (await Client(site).ok("GET", "/menus/today")) == {"plain": {"day": "today"}}
    assert (await Client(site).ok("PUT", "/menus/today")) == {"plain": {"name": "today"}}
    assert (await Client(site).call("DELETE", "/menus/today")).body == b"declared"


async def test_a_plugin_may_answer_whatever_nobody_else_does(world: World) -> None:
    site = create_app(world.app, [plain("fallback", "/<path:rest>")])
    assert (await Client(site).ok("GET", "/no/such/thing")) == {"plain": {"rest": "no/such/thing"}}
    assert (await Client(site).call("GET", "/health")).body == b"OK"


async def test_a_plugins_own_special_address_goes_before_its_general_one(world: World) -> None:
    general, special = declared("general", "/menus/:day"), plain("special", "/menus/today")
    plugins = Plugins.load([], [bringing("lunch", general, special)])
    site = create_app(world.app, plugins.routes(world.app), plugins)
    assert (await Client(site).call("GET", "/menus/monday")).body == b"declared"
    assert (await Client(site).ok("GET", "/menus/today")) == {"plain": {}}


async def test_a_declared_parameter_is_what_its_form_makes_of_it(world: World) -> None:
    section = Section("menus")

    @section.endpoint("GET", "/menus/<int:week>", answer=dict, open=True)
    async def menu(week: int) -> dict[str, Any]:
        return {"week": week}

    @section.endpoint("GET", "/files/<path:file>", answer=dict, open=True)
    async def file(file: str) -> dict[str, Any]:
        return {"file": file}

    site = create_app(world.app, [section])
    assert await Client(site).ok("GET", "/menus/7") == {"week": 7}
    for other in ("seven", "-7", "7.0", "9" * 19, "9" * 5_000):
        (await Client(site).call("GET", f"/menus/{other}")).problem(404)
    assert await Client(site).ok("GET", "/files/a/b") == {"file": "a/b"}


def test_two_handlers_of_one_name_in_a_section_are_refused_where_they_are_declared() -> None:
    section = Section("lunch")

    async def menu() -> str:
        return "soup"

    section.endpoint("GET", "/a", answer=str)(menu)
    with pytest.raises(TypeError, match=r"section lunch: GET /b and GET /a .* of the same name, menu"):
        section.endpoint("GET", "/b", answer=str)(menu)


def test_a_wrong_declaration_within_the_hook_is_told_with_its_cause() -> None:
    def routes(app: Any) -> list[Any]:
        section = Section("lunch")

        async def menu(colour: str) -> str:
            return colour

        section.endpoint("GET", "/menu", answer=str)(menu)
        return [section]

    module = ModuleType("lunch")
    module.routes = hookimpl(routes)  # type: ignore[attr-defined]
    plugins = Plugins.load([], [Entry("lunch", module)])
    with pytest.raises(PluginError, match=r'"lunch" \(teamchat-lunch 1\.2\.3\) .*nothing is called colour'):
        plugins.routes(None)  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", ["a view", "a blueprint of Flask"])
async def test_what_is_no_blueprint_is_refused(world: World, wrong: str) -> None:
    class Named:
        name = "lunch"

    offer: Any = Named() if wrong == "a view" else FlaskBlueprint("lunch", __name__)
    told = refusal(world, bringing("lunch", offer))
    assert "failed: routes must return a list of teamchat.web.Section or quart.Blueprint, not " in told


async def test_a_websocket_is_refused_for_no_request_would_reach_it(world: World) -> None:
    blueprint = Blueprint("talk", __name__)

    @blueprint.websocket("/talk")
    async def talk() -> None: ...

    told = refusal(world, bringing("talk", blueprint))
    assert "its route /talk is a WebSocket, and this server takes none." in told


async def test_what_a_blueprint_raises_is_told_with_the_plugins_name(
    world: World,
) -> None:
    blueprint = Blueprint("lunch", __name__)
    blueprint.record(lambda state: state.app.nothing_of_that_name)  # type: ignore[attr-defined]
    told = refusal(world, bringing("lunch", blueprint))
    assert '"lunch" (teamchat-lunch 1.2.3) failed: its blueprint "lunch" raised AttributeError at ' in told
