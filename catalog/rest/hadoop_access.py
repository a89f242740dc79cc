"""What Hadoop's connectors are told of credentials that a catalog gave out for the files of one table.

Settings are those of the bucket or account alone, which win over what the server's own configuration says of all. A
connector is a class that PySpark does not come with: the operator puts its jar on Spark's class path.

Source: Hadoop, "Hadoop-AWS module", "Configuring different S3 buckets", "Hadoop Azure Data Lake Storage Gen2", "SAS".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

_S3A = "org.apache.hadoop.fs.s3a.S3AFileSystem"
_S3A_PROVIDERS = "org.apache.hadoop.fs.s3a."
_ABFS = {
    "abfs": "org.apache.hadoop.fs.azurebfs.AzureBlobFileSystem",
    "abfss": "org.apache.hadoop.fs.azurebfs.SecureAzureBlobFileSystem",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class HadoopAccess:
    """`connector` is the class of a file system; `settings` hold secrets."""

    connector: str
    settings: Mapping[str, str] = field(repr=False)


def s3_access(location: str, config: Mapping[str, str]) -> HadoopAccess:
    """By properties of S3FileIO, with a key among them."""
    has_token = "s3.session-token" in config
    provider = "TemporaryAWSCredentialsProvider" if has_token else "SimpleAWSCredentialsProvider"
    said = {
        "aws.credentials.provider": f"{_S3A_PROVIDERS}{provider}",
        "access.key": config.get("s3.access-key-id"),
        "secret.key": config.get("s3.secret-access-key"),
        "session.token": config.get("s3.session-token"),
        "endpoint": config.get("s3.endpoint"),
        "endpoint.region": config.get("s3.region") or config.get("client.region"),
        "path.style.access": config.get("s3.path-style-access", "").lower(),
    }
    bucket = f"fs.s3a.bucket.{urlsplit(location).netloc}"
    settings = {f"{bucket}.{key}": value for key, value in said.items() if value}
    return HadoopAccess(connector=_S3A, settings=settings)


def abfs_access(location: str, sas_token: str) -> HadoopAccess | None:
    """None for the schemes of the connector that Hadoop has given up."""
    parts = urlsplit(location)
    connector = _ABFS.get(parts.scheme)
    if connector is None or parts.hostname is None:
        return None
    settings = {
        f"fs.azure.account.auth.type.{parts.hostname}": "SAS",
        f"fs.azure.sas.fixed.token.{parts.hostname}": sas_token,
    }
    return HadoopAccess(connector=connector, settings=settings)
