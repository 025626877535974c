/** Alerts on the processes, the relay, the steps of workflows, the clocks and Postgres. */
import { growth, type Alert } from './alert.ts';

export const engineAlerts = {
  ProcessAway: {
    expr: 'min by (job, instance) (up{job=~"club-learning-(api|worker)"}) == 0 or absent(up{job="club-learning-api"}) or absent(up{job="club-learning-worker"})',
    lasting: '2m',
    severity: 'critical',
    summary:
      'Prometheus cannot reach the process {{ $labels.instance }} of {{ $labels.job }}, or no such process runs.',
  },
  FactsLate: {
    expr: 'max(facts_lag_seconds) > 30',
    lasting: '2m',
    severity: 'critical',
    summary: 'The oldest fact has waited for {{ $value | humanizeDuration }}. No webhook and no automation starts.',
  },
  WakesStandStill: {
    expr: 'max(wakes_waiting) - max(relay_failing{kind="wake"}) > 0 unless on () (sum(rate(relay_sent_total{kind="wake"}[5m])) > 0)',
    lasting: '10m',
    severity: 'critical',
    summary: '{{ $value }} wakes wait, and the relay sends none.',
  },
  RelayFails: {
    expr: 'max by (kind) (relay_failing_age_seconds) > 300',
    lasting: '1m',
    severity: 'warning',
    summary:
      'The relay has failed to send a {{ $labels.kind }} for {{ $value | humanizeDuration }} because of an internal error.',
  },
  RowsWait: {
    expr: 'max by (workflow) (workflow_rows_due) > 1000',
    lasting: '15m',
    severity: 'warning',
    summary: '{{ $value }} rows of {{ $labels.workflow }} are due. Its workers do not process them fast enough.',
  },
  RowsLate: {
    expr: 'max by (workflow) (workflow_rows_due_age_seconds) > 300',
    lasting: '5m',
    severity: 'critical',
    summary:
      'A row of {{ $labels.workflow }} has been due for {{ $value | humanizeDuration }}, and no worker claims it.',
  },
  RowsFail: {
    expr: 'max by (workflow) (workflow_rows_failing_age_seconds) > 600',
    lasting: '1m',
    severity: 'critical',
    summary: 'Steps of {{ $labels.workflow }} have failed for {{ $value | humanizeDuration }} by an internal error.',
  },
  StepsFault: {
    expr: `${growth('workflow_step_faults_total', '15m', ['workflow'])} > 10`,
    lasting: '0m',
    severity: 'warning',
    summary: '{{ $value | humanize }} steps of {{ $labels.workflow }} have failed within 15 minutes.',
  },
  SweeperAway: {
    expr: 'max(sweeper_round_age_seconds) > 600',
    lasting: '1m',
    severity: 'critical',
    summary: 'No round of the sweeper was complete for {{ $value | humanizeDuration }}.',
  },
  SweeperRescues: {
    expr: `${growth('sweeper_rescued_total', '15m')} > 0`,
    lasting: '0m',
    severity: 'warning',
    summary: 'Temporal has lost workflows: the sweeper woke {{ $value | humanize }} within 15 minutes.',
  },
  ClockWrong: {
    expr: 'abs(clock_offset_seconds) > 10',
    lasting: '2m',
    severity: 'critical',
    summary: "The clock of {{ $labels.instance }} differs by {{ $value | humanizeDuration }} from Postgres's.",
  },
  SnapshotOld: {
    expr: 'max(postgres_oldest_snapshot_seconds) > 900',
    lasting: '5m',
    severity: 'warning',
    summary: 'A transaction has prevented Postgres from vacuuming old rows for {{ $value | humanizeDuration }}.',
  },
  RelayErrors: {
    expr: `${growth('relay_errors_total', '15m', ['kind'])} > 20`,
    lasting: '0m',
    severity: 'warning',
    summary: 'The relay failed to send {{ $value | humanize }} rows of the kind {{ $labels.kind }} within 15 minutes.',
  },
} as const satisfies Record<string, Alert>;
