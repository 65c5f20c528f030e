"""HTTP: what a plugin needs to offer endpoints. Nothing here is of the framework behind it.

section = Section("hello")

@section.endpoint("GET", "/hello/:name", answer=Hello)
async def hello(caller: Caller, name: str) -> Hello: ...
"""

from teamchat.accounts.scopes import SESSION_ALONE
from teamchat.model.pages import Page
from teamchat.web.endpoints import Answer, Endpoint, Section, Success
from teamchat.web.guard import Visitor, signed_in
from teamchat.web.ranges import partly
from teamchat.web.reader import Condition, check_coding, decode_body, read_limit
from teamchat.web.refusals import of_problem
from teamchat.web.request import Request
from teamchat.web.responses import NoContent, Redirect, Response, Stream

__all__ = [
    "SESSION_ALONE",
    "Answer",
    "Condition",
    "Endpoint",
    "NoContent",
    "Page",
    "Redirect",
    "Request",
    "Response",
    "Section",
    "Stream",
    "Success",
    "Visitor",
    "check_coding",
    "decode_body",
    "of_problem",
    "partly",
    "read_limit",
    "signed_in",
]
