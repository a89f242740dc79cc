"""Conditions of the HiveServer2 front end; all derive from :class:`catalog.errors.SqlError`."""

from __future__ import annotations

from dataclasses import dataclass

from catalog.errors import SqlError


@dataclass(eq=False)
class MalformedHandle(SqlError, condition="INVALID_HANDLE.MALFORMED", sqlstate="HY000"):
    template = "The request carries no handle of this server. Open a session, or run a statement, to get one."


@dataclass(eq=False)
class MalformedThriftMessage(SqlError, condition="MALFORMED_REQUEST.THRIFT", sqlstate="08P01"):
    reason: str
    template = "The body of the request is not a call of HiveServer2 in Thrift's binary protocol: {reason}."


@dataclass(eq=False)
class StatementSettingNotSupported(SqlError, condition="UNSUPPORTED_FEATURE.STATEMENT_SETTING", sqlstate="0A000"):
    key: str
    template = "The setting {key} cannot be given for one statement. Use SET {key}=… in the session."


@dataclass(eq=False)
class FetchOrientationNotSupported(SqlError, condition="UNSUPPORTED_FEATURE.FETCH_ORIENTATION", sqlstate="HYC00"):
    orientation: str
    template = "Rows cannot be fetched by {orientation}, only by FETCH_NEXT, FETCH_PRIOR and FETCH_FIRST."


@dataclass(eq=False)
class PageTooLarge(SqlError, condition="FETCH_TOO_LARGE", sqlstate="54000"):
    rows: int
    limit: int
    template = (
        "The first {rows} rows have more than {limit} bytes, and the protocol of this client cannot say that rows "
        "follow. Select fewer rows or columns, or use a client of a newer protocol."
    )


@dataclass(eq=False)
class InfoTypeUnknown(SqlError, condition="UNKNOWN_INFO_TYPE", sqlstate="HY096"):
    info_type: int
    template = "GetInfo knows no information of type {info_type}."


@dataclass(eq=False)
class DelegationTokenNotSupported(SqlError, condition="UNSUPPORTED_FEATURE.DELEGATION_TOKEN", sqlstate="0A000"):
    template = "Delegation tokens belong to Kerberos, which this server does not speak. Log in with user and password."


@dataclass(eq=False)
class TransferNotSupported(SqlError, condition="UNSUPPORTED_FEATURE.TRANSFER_CALL", sqlstate="0A000"):
    template = "Files are not sent by UploadData and DownloadData. Use INSERT or COPY INTO, and fetch rows by a query."
