"""Series for which each alert of `deploy/prometheus/alerts.yml` fires, and others for which it does not."""

from __future__ import annotations

from dataclasses import dataclass

LABELS = 'job="delta-gateway", instance="a:8080"'
Series = dict[str, str]


@dataclass(frozen=True, slots=True)
class AlertCase:
    """Samples a minute apart, in promtool's notation; the alert is evaluated after `minutes`."""

    alert: str
    minutes: int
    firing: Series
    quiet: Series


def series(name: str, further: str = "") -> str:
    return f"{name}{{{', '.join(filter(None, [further, LABELS]))}}}"


CASES = (
    AlertCase("GatewayDown", 10, {series("up"): "1 0x20"}, {series("up"): "1x20", series("gateway_up"): "1x20"}),
    AlertCase("GatewayDown", 10, {series("up"): "1x20", series("gateway_up"): "1 0x20"}, {}),
    AlertCase(
        "GatewaySparkRestarts",
        30,
        {series("gateway_spark_restarts_total"): "0x10 3x30"},
        {series("gateway_spark_restarts_total"): "0x10 1x30"},
    ),
    AlertCase(
        "GatewaySparkHeapFull",
        20,
        {series("gateway_spark_heap_used_bytes"): "95x30", series("gateway_spark_heap_max_bytes"): "100x30"},
        {series("gateway_spark_heap_used_bytes"): "80x30", series("gateway_spark_heap_max_bytes"): "100x30"},
    ),
    AlertCase(
        "GatewayStatementsWait",
        40,
        {
            series("gateway_stage_seconds_bucket", 'stage="queue", le="30"'): "0x60",
            series("gateway_stage_seconds_bucket", 'stage="queue", le="60"'): "0+10x60",
            series("gateway_stage_seconds_bucket", 'stage="queue", le="+Inf"'): "0+10x60",
        },
        {
            series("gateway_stage_seconds_bucket", 'stage="queue", le="30"'): "0+10x60",
            series("gateway_stage_seconds_bucket", 'stage="queue", le="60"'): "0+10x60",
            series("gateway_stage_seconds_bucket", 'stage="queue", le="+Inf"'): "0+10x60",
        },
    ),
    AlertCase(
        "GatewayStatementsFail",
        45,
        {
            series("gateway_statements_ended_total", 'state="failed", class="read"'): "0+9x60",
            series("gateway_statements_ended_total", 'state="finished", class="read"'): "0+1x60",
        },
        {
            series("gateway_statements_ended_total", 'state="failed", class="read"'): "0+1x60",
            series("gateway_statements_ended_total", 'state="finished", class="read"'): "0+9x60",
        },
    ),
    AlertCase(
        "GatewayStatementsAbandoned",
        20,
        {series("gateway_statements_abandoned"): "5x30"},
        {series("gateway_statements_abandoned"): "4x30"},
    ),
    AlertCase(
        "GatewayCommitConflicts",
        30,
        {series("gateway_commit_conflicts_total"): "0+1x60"},
        {series("gateway_commit_conflicts_total"): "0x60"},
    ),
    AlertCase(
        "GatewayCertificateExpires",
        20,
        {series("gateway_certificate_expiry_timestamp_seconds"): "1206000x30"},
        {series("gateway_certificate_expiry_timestamp_seconds"): "1214000x30"},
    ),
    AlertCase(
        "GatewayCertificateExpiresSoon",
        20,
        {series("gateway_certificate_expiry_timestamp_seconds"): "600x30"},
        {series("gateway_certificate_expiry_timestamp_seconds"): "175000x30"},
    ),
    AlertCase(
        "GatewayLoginsFail",
        20,
        {series("gateway_login_failures_total"): "0+20x30"},
        {series("gateway_login_failures_total"): "0+5x30"},
    ),
    AlertCase(
        "GatewayResultsFull",
        20,
        {
            series("gateway_results_held_bytes", 'place="disk"'): "95x30",
            series("gateway_results_disk_max_bytes"): "100x30",
        },
        {
            series("gateway_results_held_bytes", 'place="disk"'): "85x30",
            series("gateway_results_disk_max_bytes"): "100x30",
        },
    ),
    AlertCase(
        "GatewayStateFull",
        20,
        {series("gateway_state_bytes"): "95x30", series("gateway_state_max_bytes"): "100x30"},
        {series("gateway_state_bytes"): "0x30", series("gateway_state_max_bytes"): "0x30"},
    ),
    AlertCase(
        "GatewayStateNotWritten",
        20,
        {series("gateway_state_failures_total"): "0x10 2x20"},
        {series("gateway_state_failures_total"): "2x30"},
    ),
)
