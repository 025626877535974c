/** Alerts on mails and automations. */
import { badShare, growth, type Alert } from './alert.ts';

const some = { share: 0.2, atLeast: 10, window: '30m' };

export const mailAlerts = {
  MailsFail: {
    expr: badShare('mails_total', 'outcome="failed"', some),
    lasting: '5m',
    severity: 'critical',
    summary: 'The mail server has refused {{ $value | humanize }} mails within 30 minutes, or is unreachable.',
  },
  AutomationsStandStill: {
    expr: `max(automation_runs_active) > 0 and on () max(workflow_rows_due{workflow="automationRun"}) > 0 unless on () ${growth('automation_steps_total', '30m')} > 0`,
    lasting: '15m',
    severity: 'warning',
    summary: 'Steps of automations are due, and no worker has claimed one for half an hour.',
  },
  AutomationsHeld: {
    expr: 'max(automation_runs_held) > 0 unless on () max(automation_gates_open) > 0',
    lasting: '3d',
    severity: 'warning',
    summary: 'Paused automations have blocked {{ $value }} runs for three days.',
  },
  AutomationRunsFail: {
    expr: badShare('automation_runs_ended_total', 'status="failed"', { share: 0.2, atLeast: 10, window: '1h' }),
    lasting: '0m',
    severity: 'warning',
    summary:
      '{{ $value | humanize }} runs of automations have failed within an hour, more than a fifth of all ended runs.',
  },
  DigestMailsFail: {
    expr: badShare('digest_mails_total', 'status!="sent"', some),
    lasting: '5m',
    severity: 'warning',
    summary: '{{ $value | humanize }} daily mails of spaces were not sent within 30 minutes.',
  },
  AutomationMailsFail: {
    expr: badShare('automation_mails_total', 'status!="sent"', some),
    lasting: '5m',
    severity: 'warning',
    summary: '{{ $value | humanize }} mails of automations were not sent within 30 minutes.',
  },
  MailEventsForeign: {
    expr: badShare('mail_events_total', 'outcome="passed_over"', { share: 0.9, atLeast: 20, window: '1h' }),
    lasting: '10m',
    severity: 'warning',
    summary: 'The mail provider reports {{ $value | humanize }} e-mails within an hour that this service did not send.',
  },
} as const satisfies Record<string, Alert>;
