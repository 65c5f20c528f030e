"""HTTP: what a plugin needs to offer endpoints.

section = Section("hello")

@section.endpoint("GET", "/hello/:name", answer=Hello)
async def hello(caller: Caller, name: str) -> Hello: ...
"""

from teamchat.web.endpoints import Answer, Endpoint, Section, Success, respond
from teamchat.web.guard import Visitor, signed_in
from teamchat.web.reader import Page

__all__ = ["Answer", "Endpoint", "Page", "Section", "Success", "Visitor", "respond", "signed_in"]
