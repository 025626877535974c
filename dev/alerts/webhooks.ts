/** Alerts on webhooks. */
import { growth, type Alert } from './alert.ts';

/** If many attempts have these outcomes, our own network or workers have a problem. */
const ours = 'outcome=~"dns_error|timeout|connection_error|address_refused|interrupted"';

export const webhookAlerts = {
  EndpointsThrottled: {
    expr: 'max(webhook_endpoints_throttled) - max(webhook_endpoints_throttled offset 30m) > 10',
    lasting: '5m',
    severity: 'warning',
    summary: '{{ $value }} more endpoints are throttled than half an hour ago. Check the network of the workers.',
  },
  DeliveriesPile: {
    expr: 'max(webhook_deliveries_pending) - max(webhook_deliveries_parked) > 1000 + 2 * (max(webhook_deliveries_pending offset 1h) - max(webhook_deliveries_parked offset 1h))',
    lasting: '10m',
    severity: 'warning',
    summary: '{{ $value }} deliveries wait that are not parked. That is more than twice as many as an hour ago.',
  },
  PartitionMissing: {
    expr: 'max(webhook_default_partition_rows) > 0',
    lasting: '30m',
    severity: 'warning',
    summary:
      '{{ $value }} rows of webhooks are in the default partition, because the partition of their time is missing.',
  },
  DeliveriesParked: {
    expr: 'max(webhook_deliveries_parked) > 100000',
    lasting: '1h',
    severity: 'warning',
    summary:
      '{{ $value }} deliveries are parked. When their endpoints recover, sending these deliveries will take hours.',
  },
  AttemptsFail: {
    expr: `${growth(`webhook_attempts_total{${ours}}`, '15m', ['outcome'])} > on () group_left () 0.3 * ${growth('webhook_attempts_total', '15m')} and ${growth(`webhook_attempts_total{${ours}}`, '15m', ['outcome'])} >= 20`,
    lasting: '5m',
    severity: 'warning',
    summary:
      '{{ $value | humanize }} attempts within 15 minutes ended with {{ $labels.outcome }}, more than 30 % of all attempts.',
  },
} as const satisfies Record<string, Alert>;
