"""HTTP: what a plugin needs to offer endpoints. Nothing here is of the framework behind it.

section = Section("hello")

@section.endpoint("GET", "/hello/:name", answer=Hello)
async def hello(caller: Caller, name: str) -> Hello: ...
"""

from teamchat.model.pages import Page
from teamchat.web.endpoints import Answer, Endpoint, Section, Success
from teamchat.web.guard import Visitor, signed_in
from teamchat.web.reader import Condition, read_limit
from teamchat.web.request import Request
from teamchat.web.responses import Redirect, Response, Stream

__all__ = [
    "Answer",
    "Condition",
    "Endpoint",
    "Page",
    "Redirect",
    "Request",
    "Response",
    "Section",
    "Stream",
    "Success",
    "Visitor",
    "read_limit",
    "signed_in",
]
