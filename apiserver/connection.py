"""Connection to an API server: its address, trust, proxy and credentials.

Edge: urllib3, whose pools of connections are made here.
"""

from __future__ import annotations

import contextlib
import dataclasses
import ipaddress
import ssl
import tempfile
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

import urllib3

from apiserver.credentials import Anonymous, Certificate, Credentials
from apiserver.exchange import Exchange


@dataclasses.dataclass(frozen=True)
class Connection:
    """Address, trust and credentials of an API server.

    Attributes:
        host: URL of the API server, without a slash at its end.
        ca: certificates of the authorities in PEM; None: those of the system.
        verifies: whether the certificate of the API server is verified.
        server_name: name in the certificate of the API server; empty: that of the URL.
        proxy: URL of the proxy; None: that of the environment, if one is set for the URL.
        credentials: who calls.
        pooled: connections that are kept open; more are opened and closed again.

    """

    host: str
    ca: str | None = None
    verifies: bool = True
    server_name: str = ""
    proxy: str | None = None
    credentials: Credentials = dataclasses.field(default_factory=Anonymous)
    pooled: int = 10

    def proxy_of_host(self) -> str:
        """Return the URL of the proxy; empty if there is none."""
        if self.proxy is not None:
            return self.proxy
        url = urllib.parse.urlsplit(self.host)
        proxies = urllib.request.getproxies_environment()
        return "" if _is_direct(url.hostname or "", url.port, proxies.get("no", "")) else proxies.get(url.scheme, "")

    def tls(self, certificate: Certificate | None) -> ssl.SSLContext:
        """Return what verifies the API server and shows it a client *certificate*.

        Raises:
            OSError: a certificate or key cannot be used; ``ssl.SSLError`` is one.

        """
        try:
            context = ssl.create_default_context(cadata=self.ca)
        except (ssl.SSLError, ValueError):
            raise OSError("certificate-authority must have certificates in PEM") from None
        # From Python 3.13 on, authorities without some extensions would be refused; kubectl accepts them.
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        if not self.verifies:
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        if certificate is not None:
            _load(context, certificate)
        return context

    def pools(self, certificate: Certificate | None) -> urllib3.PoolManager:
        """Return the pools of connections, which show a client *certificate*.  Raises as ``tls``; ValueError: the proxy cannot be used."""
        options: dict[str, Any] = {"maxsize": self.pooled, "retries": False}
        if self.host.startswith("https:"):
            options |= {"ssl_context": self.tls(certificate)}
            if self.server_name:
                options["server_hostname"] = self.server_name
        proxy = self.proxy_of_host()
        if not proxy:
            return urllib3.PoolManager(**options)
        if urllib.parse.urlsplit(proxy).scheme not in {"http", "https"}:
            raise ValueError("the proxy of the environment must have an address that begins with http:// or https://")
        return urllib3.ProxyManager(proxy, proxy_headers=proxy_headers(proxy), **options)

    def exchange(self, certificate: Certificate | None, connect_seconds: float) -> Exchange | None:
        """Return connections that show a client *certificate*; None if there is a proxy, which takes the requests.  Raises as ``tls``."""
        if self.proxy_of_host():
            return None
        url = urllib.parse.urlsplit(self.host)
        tls = self.tls(certificate) if url.scheme == "https" else None
        address = url.hostname or "", url.port or (80 if tls is None else 443)
        return Exchange(address, tls, self.server_name or address[0], self.pooled, connect_seconds)


def _is_direct(host: str, port: int | None, listed: str) -> bool:
    """Return whether NO_PROXY, which is *listed*, has the host, as clients in Go read it: names, domains, addresses and networks."""
    address = None
    with contextlib.suppress(ValueError):
        address = ipaddress.ip_address(host)
    if host == "localhost" or (address is not None and address.is_loopback):
        return True
    for entry in filter(None, (each.strip().lower() for each in listed.split(","))):
        with contextlib.suppress(ValueError):
            if address is not None and address in ipaddress.ip_network(entry, strict=False):
                return True
        name, _, at = entry.partition(":")
        of_port = not at or at == str(port)
        if entry == "*" or (of_port and (host == name or host.endswith(name if name.startswith(".") else f".{name}"))):
            return True
    return False


def proxy_headers(proxy: str) -> dict[str, str]:
    """Return the headers with the name and password in the URL of a *proxy*; none if it has none."""
    url = urllib.parse.urlsplit(proxy)
    if url.username is None:
        return {}
    words = f"{urllib.parse.unquote(url.username)}:{urllib.parse.unquote(url.password or '')}"
    return {**urllib3.make_headers(proxy_basic_auth=words)}


def _load(context: ssl.SSLContext, certificate: Certificate) -> None:
    """Load a certificate and its key, which Python reads from files only: they are in a directory of this user for a moment."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="muster-")))
        names = []
        for name, content in (("certificate", certificate.chain), ("key", certificate.key)):
            (folder / name).touch(mode=0o600)
            (folder / name).write_bytes(content)
            names.append(str(folder / name))
        try:
            context.load_cert_chain(names[0], names[1], _no_password)
        except ssl.SSLError:
            raise OSError("client-certificate and client-key must be a certificate and its key in PEM") from None


def _no_password() -> bytes:
    # Else OpenSSL would ask for it on the terminal.
    raise ValueError("the key of the client certificate is encrypted, which is not supported")
