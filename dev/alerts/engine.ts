/** Alerts on the processes, the relay, the steps of workflows, the clocks and Postgres. */
import { growth, type Alert } from './alert.ts';

export const engineAlerts = {
  ProcessAway: {
    expr: 'min by (job, instance) (up{job=~"club-learning-(api|worker)"}) == 0 or absent(up{job="club-learning-api"}) or absent(up{job="club-learning-worker"})',
    lasting: '2m',
    severity: 'critical',
    summary: 'The process {{ $labels.instance }} of {{ $labels.job }} is not reached, or there is none.',
  },
  FactsLate: {
    expr: 'max(facts_lag_seconds) > 30',
    lasting: '2m',
    severity: 'critical',
    summary: 'The oldest fact has waited for {{ $value | humanizeDuration }}: no webhook and no automation begins.',
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
    summary: 'A {{ $labels.kind }} has failed for {{ $value | humanizeDuration }} by a fault of its own.',
  },
  RowsWait: {
    expr: 'max by (workflow) (workflow_rows_due) > 1000',
    lasting: '15m',
    severity: 'warning',
    summary: 'More rows of {{ $labels.workflow }} are due than its workers carry: {{ $value }}.',
  },
  RowsLate: {
    expr: 'max by (workflow) (workflow_rows_due_age_seconds) > 300',
    lasting: '5m',
    severity: 'critical',
    summary: 'A row of {{ $labels.workflow }} is due since {{ $value | humanizeDuration }}, and no worker takes it.',
  },
  RowsFail: {
    expr: 'max by (workflow) (workflow_rows_failing_age_seconds) > 600',
    lasting: '1m',
    severity: 'critical',
    summary: 'Steps of {{ $labels.workflow }} fail for {{ $value | humanizeDuration }} by a fault of ours.',
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
    summary: "The clock of {{ $labels.instance }} is {{ $value | humanizeDuration }} from Postgres's.",
  },
  SnapshotOld: {
    expr: 'max(postgres_oldest_snapshot_seconds) > 900',
    lasting: '5m',
    severity: 'warning',
    summary: 'A transaction has kept Postgres from clearing old rows for {{ $value | humanizeDuration }}.',
  },
  RelayErrors: {
    expr: `${growth('relay_errors_total', '15m', ['kind'])} > 20`,
    lasting: '0m',
    severity: 'warning',
    summary: 'The relay could not carry {{ $value | humanize }} of kind {{ $labels.kind }} on within 15 minutes.',
  },
} as const satisfies Record<string, Alert>;
