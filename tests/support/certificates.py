"""Certificates and keys for tests of TLS, made by the command openssl."""

import os
import ssl
import subprocess
from pathlib import Path

HOST = "subjectAltName=DNS:localhost,IP:127.0.0.1"
CLIENT = "extendedKeyUsage=clientAuth"


def openssl(*arguments, cwd=None):
    done = subprocess.run(["openssl", *map(str, arguments)], cwd=cwd, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, f"openssl {arguments[0]}: {done.stderr}"
    return done.stdout


class Authority:
    """An authority in a folder: NAME.pem and NAME.key, and the files of what it issues."""

    def __init__(self, folder, name="ca"):
        self.folder = Path(folder)
        self.name = name
        self.certificate = self.folder / f"{name}.pem"
        self.crl = self.folder / f"{name}.crl"
        openssl("req", "-x509", *self._key(name), "-out", self.certificate, "-days", 30, "-subj", f"/CN={name}",
                "-addext", "keyUsage=critical,keyCertSign,cRLSign")
        database = self.folder / f"{name}.db"
        database.mkdir()
        (database / "index.txt").touch()
        (database / "crlnumber").write_text("01\n")
        (database / "serial").write_text("10\n")
        (database / "conf").write_text(
            f"[ca]\ndefault_ca=d\n[d]\ndatabase={database}/index.txt\ncrlnumber={database}/crlnumber\n"
            f"serial={database}/serial\nnew_certs_dir={database}\ndefault_md=sha256\npolicy=p\ncopy_extensions=copy\n"
            "unique_subject=no\n[p]\ncommonName=supplied\n")
        self._ca = ["ca", "-batch", "-config", database / "conf", "-cert", self.certificate, "-keyfile", self.folder / f"{name}.key"]
        self.revoke()

    def _key(self, name):
        return ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", self.folder / f"{name}.key"]

    def issue(self, name, extension=HOST, start=None, end=None, subject=None):
        """Returns the paths of the certificate and its key. start, end: YYMMDDHHMMSSZ."""
        request, made = self.folder / f"{name}.csr", self.folder / f"{name}.pem"
        openssl("req", "-new", *self._key(name), "-out", request, "-subj", f"/CN={subject or name}", "-addext", extension)
        dates = ["-startdate", start or "200101000000Z", "-enddate", end] if end else ["-days", 30]
        openssl(*self._ca, "-notext", "-in", request, "-out", made, *dates)
        return made, self.folder / f"{name}.key"

    def sign_itself(self, name, extension=HOST):
        """Like issue, but the certificate signs itself and is not an authority."""
        made = self.folder / f"{name}.pem"
        openssl("req", "-x509", *self._key(name), "-out", made, "-days", 30, "-subj", f"/CN={name}", "-addext", extension,
                "-addext", "basicConstraints=critical,CA:FALSE")
        return made, self.folder / f"{name}.key"

    def revoke(self, *certificates):
        for certificate in certificates:
            openssl(*self._ca, "-revoke", certificate)
        openssl(*self._ca, "-gencrl", "-crldays", 30, "-out", self.crl)


class Servers(Authority):
    """An authority, and pairs of servers that clients accept or refuse."""

    def __init__(self, folder):
        super().__init__(folder)
        self.good = self.issue("good", "subjectAltName=DNS:localhost,DNS:*.wild.test,IP:127.0.0.1,IP:::1")
        self.wrong_host = self.issue("wrong-host", "subjectAltName=DNS:other.test,IP:127.0.0.2")
        self.name_in_subject = self.issue("in-subject", "extendedKeyUsage=serverAuth", subject="localhost")
        self.self_signed = self.sign_itself("self-signed")
        self.expired = self.issue("expired", start="200101000000Z", end="210101000000Z")
        self.client = self.issue("client", CLIENT)

    def context(self, pair=None, client_ca=None, lowest=ssl.TLSVersion.TLSv1_2, highest=ssl.TLSVersion.TLSv1_3):
        """The server's side. client_ca: the authority of the certificates that clients must have."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*(pair or self.good))
        if lowest < ssl.TLSVersion.TLSv1_2:
            context.set_ciphers("ALL:@SECLEVEL=0")
        context.minimum_version, context.maximum_version = lowest, highest
        if client_ca is not None:
            context.load_verify_locations(client_ca)
            context.verify_mode = ssl.CERT_REQUIRED
        return context


def install(pair, folder):
    """Puts a pair in place as cert.pem and key.pem, one file after the other, as a deployment does."""
    for source, name in zip(pair, ("cert.pem", "key.pem")):
        put(source, Path(folder) / name)


def put(source, path):
    """Replaces one file whole."""
    new = path.with_suffix(".new")
    new.write_bytes(Path(source).read_bytes())
    new.chmod(0o600)
    os.replace(new, path)


def client_context(authority, pair=None):
    context = ssl.create_default_context(cafile=str(authority.certificate))
    if pair is not None:
        context.load_cert_chain(*map(str, pair))
    return context
