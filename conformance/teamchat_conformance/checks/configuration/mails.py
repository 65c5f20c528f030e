"""CFG-MAIL, CFG-URL: how mails go out, and where their links lead."""

from __future__ import annotations

import tempfile
from email.utils import parseaddr
from pathlib import Path
from typing import TYPE_CHECKING

from teamchat_conformance.checks.configuration._area import area, started
from teamchat_conformance.checks.signing_in import leads_to_application, link_of, mail_to, sink
from teamchat_conformance.expect import require
from teamchat_conformance.fixtures.certificates import Certificate
from teamchat_conformance.launch import HOST, free_port

if TYPE_CHECKING:
    from teamchat_conformance.run import Run

_SUBJECT = "A subject of the operator's own"
_RETRIES_SECONDS = 120.0

area.required("CFG-MAIL-01", "§5 Configuration keys", "email.emailSubject is the subject", "launch")
area.required(
    "CFG-MAIL-02", "§5 Configuration keys", "Mails are sent as email.user, with email.password", "launch"
)
area.required("CFG-MAIL-03", "§5 Configuration keys", "email.secure is TLS from the first byte", "launch")
area.recommended(
    "CFG-MAIL-04", "§5 Configuration keys", "A mail put off twice arrives at the third try", "launch"
)
area.required("CFG-MAIL-05", "§4 Sign-in", "Without a mail server sign-in answers everybody alike", "launch")
area.required("CFG-URL-01", "§5 Configuration keys", "Links and redirects start with auth.appUrl", "launch")


@area.scenario("CFG-MAIL-01", "CFG-MAIL-02", "CFG-MAIL-04", "CFG-URL-01", needs=("launch",))
async def a_mail_as_configured(run: Run) -> None:
    keys = {"email.emailSubject": _SUBJECT, "email.maxRetries": 2}
    async with started(run, keys, mode="magic-link", has_mail=True, has_oauth=True) as own:
        email, box = own.run.instance.admin.email, sink(own.run)
        (await own.run.n.post("/auth/login", {"email": email})).expect(200)
        mail = await mail_to(own.run, email, 0)
        with run.verdict("CFG-MAIL-01"):
            require(mail.message["Subject"] == _SUBJECT, f"the subject is {mail.message['Subject']!r}")
        with run.verdict("CFG-MAIL-02"):
            user = own.run.instance.mail.username
            require(mail.user == user, f"the sender signed in as {mail.user}")
            require(parseaddr(mail.sender)[1] == user, f"the mail is from {mail.sender}")
        with run.verdict("CFG-URL-01"):
            leads_to_application(own.run, link_of(own.run, mail.text or mail.html))
            provider = own.run.instance.oauth.provider[0].id
            answer = (await own.run.n.get(f"/auth/oauth/{provider}/callback?code=none")).expect(302)
            leads_to_application(own.run, answer.header("location") or "")
        with run.verdict("CFG-MAIL-04"):
            mark = box.mark()
            box.fail(email, "later", 2)
            (await own.run.n.post("/auth/login", {"email": email})).expect(200)
            await box.wait(email, since=mark, seconds=run.wait(_RETRIES_SECONDS))


@area.scenario("CFG-MAIL-03", needs=("launch",))
async def a_mail_over_tls(run: Run) -> None:
    certificate = Certificate.made(HOST)
    with tempfile.TemporaryDirectory() as directory:
        env = _trusting(certificate, Path(directory, "trusted.pem"))
        keys = {"email.secure": True}
        async with started(
            run, keys, mode="magic-link", has_mail=True, tls="implicit", certificate=certificate, env=env
        ) as own:
            email = own.run.instance.admin.email
            with run.verdict("CFG-MAIL-03"):
                (await own.run.n.post("/auth/login", {"email": email})).expect(200)
                mail = await mail_to(own.run, email, 0)
                require(mail.is_encrypted, "the mail came in the clear")


def _trusting(certificate: Certificate, path: Path) -> dict[str, str]:
    """Return the environment in which OpenSSL and Node trust a certificate."""
    path.write_bytes(certificate.pem)
    return {"SSL_CERT_FILE": str(path), "NODE_EXTRA_CA_CERTS": str(path)}


@area.scenario("CFG-MAIL-05", needs=("launch",))
async def no_mail_server(run: Run) -> None:
    async with started(run, {"email.port": free_port()}, mode="magic-link", has_mail=True) as own:
        with run.verdict("CFG-MAIL-05"):
            known = await own.run.n.post("/auth/login", {"email": own.run.instance.admin.email})
            unknown = await own.run.n.post("/auth/login", {"email": own.run.email()})
            known.expect(200)
            unknown.expect(200)
            require(known.json == unknown.json, "known and unknown emails are answered differently")
