"""OAUTH-PROV, OAUTH-START-05, -07: which providers there are, and that each can be begun with."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

from teamchat_conformance.checks.browser import SPENT, Browser, addresses_of, first, location, provider, told
from teamchat_conformance.checks.oauth._area import area, browsing
from teamchat_conformance.checks.signing_in import inapplicable
from teamchat_conformance.checks.steps import at, is_gone, unknown
from teamchat_conformance.expect import array, integer, require, text

if TYPE_CHECKING:
    from teamchat_conformance.run import Run

_LISTED = {"providers": array({"id": text, "name": text, "loginUrl": text}), "count": integer}
_PRESET_SCOPES = (
    "openid email profile",
    "openid email profile User.Read",
    "user:email read:user",
    "read_user email",
)

area.required(
    "OAUTH-PROV-01", "§4 OAuth", "The list answers 200 to anybody: id, name, loginUrl, and a count", "idp"
)
area.required("OAUTH-PROV-02", "§4 OAuth", "The count is that of the list", "idp")
area.required("OAUTH-PROV-03", "§5 oauth.custom", "A custom provider is there with its id and name", "idp")
area.required("OAUTH-PROV-04", "§4 OAuth", "Without providers there is no list", "nooauth")
area.required("OAUTH-PROV-05", "§4 OAuth", "loginUrl is where a sign-in begins", "idp")
area.required("OAUTH-START-05", "§7", "An unknown provider is 404", "idp")
area.required("OAUTH-START-07", "§5 rule 15", "A built-in provider is asked for the scopes of its preset")


@area.scenario("OAUTH-PROV-01", "OAUTH-PROV-02", "OAUTH-PROV-03", "OAUTH-START-05", needs=("idp",))
async def the_list(run: Run) -> None:
    answer = await run.n.get("/auth/oauth/providers")
    with run.verdict("OAUTH-PROV-01"):
        answer.expect(200).shape(_LISTED)
    listed = answer.shape(_LISTED)
    with run.verdict("OAUTH-PROV-02"):
        require(listed["count"] == len(listed["providers"]), f"count is {listed['count']}")
    with run.verdict("OAUTH-PROV-03"):
        named = {one["id"]: one["name"] for one in listed["providers"]}
        for one in run.instance.oauth.provider:
            require(one.id in named, f"the provider {one.id} is not in the list")
            require(
                not one.name or named[one.id] == one.name, f"the provider {one.id} is called {named[one.id]}"
            )
    with run.verdict("OAUTH-START-05"):
        is_gone(await run.n.get(at("auth", "oauth", unknown(run))), accept=())


@area.scenario("OAUTH-PROV-04", needs=("nooauth",))
async def no_list(run: Run) -> None:
    answer = await run.n.get("/auth/oauth/providers")
    if answer.status == 200 and answer.shape(_LISTED)["providers"]:
        inapplicable(run, "the server offers providers that are not the suite's", "OAUTH-PROV-04")
        return
    with run.verdict("OAUTH-PROV-04"):
        answer.error(404, accept=(401,))


@browsing("OAUTH-PROV-05", sign_ins=1)
async def where_it_begins(run: Run, browser: Browser) -> None:
    listed = (await run.n.get("/auth/oauth/providers")).expect(200).shape(_LISTED)["providers"]
    with run.verdict("OAUTH-PROV-05"):
        urls = [one["loginUrl"] for one in listed if one["id"] == first(run).id]
        require(urls, "the provider is not in the list")
        whole = urlsplit(urljoin(f"{run.instance.base_url}/", urls[0]))
        base = urlsplit(run.instance.base_url).path
        target = whole._replace(scheme="", netloc="", path=whole.path.removeprefix(base)).geturl()
        answer = await browser.get(target)
        wanted = provider(run).url(first(run).id, "authorize")
        require(location(answer).partition("?")[0] == wanted, f"loginUrl leads to {location(answer)[:200]}")
        require(told(answer).get("state"), "a sign-in that begins at loginUrl has no state")


@area.scenario("OAUTH-START-07")
async def the_built_in_providers(run: Run) -> None:
    answer = await run.n.get("/auth/oauth/providers")
    own = {one.id for one in run.instance.oauth.provider}
    offered = answer.shape(_LISTED)["providers"] if answer.status == 200 else []
    others = [one["id"] for one in offered if one["id"] not in own]
    browser = addresses_of(run).browser(len(others)) if others else None
    if browser is None:
        why = SPENT if others else "the server offers no built-in provider"
        inapplicable(run, why, "OAUTH-START-07")
        return
    with run.verdict("OAUTH-START-07"):
        for id in others:
            scope = told(await browser.start(id)).get("scope", "")
            presets = [set(preset.split()) for preset in _PRESET_SCOPES]
            require(set(scope.split()) in presets, f"{id} is asked for {scope!r}, the scopes of no preset")
