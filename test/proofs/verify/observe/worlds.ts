/** Metrics for normal operation and for each alert, in the notation of promtool. Each series has a value for each minute. */
import type { AlertName } from '../../../../dev/alerts/rules-file.ts';

/** The values of each series over time. The key is the series. */
export type SeriesValues = Readonly<Record<string, string>>;

interface Break {
  /** The series while something is broken. They replace the series with these names in {@link normalLife}. */
  readonly series: SeriesValues;
  readonly fires: readonly Readonly<Record<string, string>>[];
  /** The minute at which the alert must fire. */
  readonly at?: number;
}

export const lifeMinutes = 360;

const api = 'job="club-learning-api", instance="api-1"';
const workers = ['w1', 'w2'].map((instance) => `job="club-learning-worker", instance="${instance}"`);
const steady = (value: number) => `${value}x${lifeMinutes}`;
const growing = (perMinute: number, from = 0) => `${from}+${perMinute}x${lifeMinutes}`;

/** @param name the name of the series, which may contain labels: `mails_total{outcome="sent"}` */
function at(name: string, process: string): string {
  const [, metric = name, labels = ''] = /^(\w+)\{(.*)\}$/.exec(name) ?? [];
  return `${metric}{${labels === '' ? '' : `${labels}, `}${process}}`;
}

const inWorkers = (name: string, values: string): SeriesValues =>
  Object.fromEntries(workers.map((worker) => [at(name, worker), values]));
const inOne = (name: string, values: string): SeriesValues => ({ [at(name, workers[0] ?? '')]: values });
const inApi = (name: string, values: string): SeriesValues => ({ [at(name, api)]: values });

/** The number of waiting wakes in each minute of an import that takes an hour. */
const anImport = `0x59 5000-80x60 0x${lifeMinutes - 120}`;

/**
 * Normal operation. Clubs import students, pause automations, and have endpoints that do not answer. A step fails once. After two hours a
 * new worker replaces another worker.
 */
export const normalLife: SeriesValues = {
  ...inWorkers('up', steady(1)),
  ...inApi('up', steady(1)),
  'up{job="club-learning-worker", instance="w0"}': '1x120 stale',
  'sweeper_rescued_total{job="club-learning-worker", instance="w0"}': '3x120 stale',
  'workflow_step_faults_total{workflow="agentAnswer", job="club-learning-worker", instance="w0"}': '40x120 stale',
  'up{job="club-learning-worker", instance="w3"}': `_x120 1x${lifeMinutes - 121}`,
  'sweeper_rescued_total{job="club-learning-worker", instance="w3"}': `_x120 0x${lifeMinutes - 121}`,
  ...inWorkers('facts_lag_seconds', `0 0.3 0 2 0x${lifeMinutes - 4}`),
  ...inWorkers('wakes_waiting', anImport),
  ...inWorkers('relay_failing{kind="wake"}', `0x30 1x2 0x${lifeMinutes - 34}`),
  ...inWorkers('relay_failing_age_seconds{kind="fact"}', steady(0)),
  ...inWorkers('relay_failing_age_seconds{kind="wake"}', `0x30 30 90 0x${lifeMinutes - 33}`),
  ...inOne('relay_sent_total{kind="wake"}', growing(60)),
  ...inOne('relay_errors_total{kind="wake"}', `_x30 3x${lifeMinutes - 31}`),
  ...inWorkers('workflow_rows_due{workflow="transactionalMail"}', anImport.replace('5000-80', '600-10')),
  ...inWorkers('workflow_rows_due{workflow="automationRun"}', steady(1)),
  ...inWorkers('workflow_rows_due_age_seconds{workflow="webhookDelivery"}', `0x20 180 190 0x${lifeMinutes - 23}`),
  ...inWorkers('workflow_rows_failing_age_seconds{workflow="agentAnswer"}', `0x20 60 300 500 0x${lifeMinutes - 24}`),
  ...inOne('workflow_step_faults_total{workflow="agentAnswer"}', `_x20 3x${lifeMinutes - 21}`),
  ...inWorkers('sweeper_round_age_seconds', `30 90x${lifeMinutes - 1}`),
  ...inOne('sweeper_rescued_total', steady(7)),
  ...inWorkers('clock_offset_seconds', `0 -0.4 0.2x${lifeMinutes - 2}`),
  ...inApi('clock_offset_seconds', steady(0)),
  ...inWorkers('postgres_oldest_snapshot_seconds', `4 600 900 960 3x${lifeMinutes - 4}`),
  ...inWorkers('webhook_endpoints_throttled', `3x60 9x${lifeMinutes - 61}`),
  ...inWorkers('webhook_deliveries_pending', `500x60 1300x${lifeMinutes - 61}`),
  ...inWorkers('webhook_deliveries_parked', `400x60 600x${lifeMinutes - 61}`),
  ...inWorkers('webhook_default_partition_rows', `0x100 5x4 0x${lifeMinutes - 106}`),
  ...inOne('webhook_attempts_total{outcome="succeeded"}', growing(200)),
  ...inOne('webhook_attempts_total{outcome="http_error"}', growing(40)),
  ...inOne('webhook_attempts_total{outcome="dns_error"}', growing(2)),
  ...inOne('webhook_attempts_total{outcome="interrupted"}', `_x120 4x${lifeMinutes - 121}`),
  ...inOne('mails_total{outcome="sent"}', growing(20)),
  ...inOne('mails_total{outcome="failed"}', growing(1)),
  ...inWorkers('automation_runs_active', steady(50)),
  ...inWorkers('automation_runs_held', `0x60 20x${lifeMinutes - 61}`),
  ...inWorkers('automation_gates_open', steady(0)),
  ...inOne('automation_steps_total{kind="wait"}', growing(2)),
  ...inOne('automation_runs_ended_total{status="completed"}', growing(3)),
  ...inOne('automation_runs_ended_total{status="failed"}', `_x50 2x${lifeMinutes - 51}`),
  ...inOne('automation_mails_total{status="sent"}', growing(5)),
  ...inOne('automation_mails_total{status="pending"}', `_x50 4x${lifeMinutes - 51}`),
  ...inOne('digest_mails_total{status="sent"}', growing(5)),
  ...inOne('digest_mails_total{status="failed"}', `_x50 4x${lifeMinutes - 51}`),
  ...inApi('mail_events_total{outcome="matched"}', growing(5)),
  ...inApi('mail_events_total{outcome="passed_over"}', growing(1)),
  ...inOne('sales_notices_total{outcome="processed"}', growing(1)),
  ...inOne('sales_notices_total{outcome="failed"}', `_x50 3x${lifeMinutes - 51}`),
  ...inOne('agent_answers_total{status="complete", code=""}', growing(4)),
  ...inOne('agent_answers_total{status="failed", code="model_overloaded"}', `_x50 4x${lifeMinutes - 51}`),
  ...inOne('agent_first_words_seconds_bucket{le="1"}', growing(3)),
  ...inOne('agent_first_words_seconds_bucket{le="5"}', growing(4)),
  ...inOne('agent_first_words_seconds_bucket{le="+Inf"}', growing(4)),
  ...inOne('agent_cost_micros_total{model="m", payer="club"}', growing(50_000)),
  ...inOne('agent_cost_micros_total{model="m", payer="operator"}', growing(100)),
  ...inOne('agent_sources_total{outcome="ready"}', growing(1)),
  ...inOne('agent_sources_total{outcome="failed"}', `_x50 6x${lifeMinutes - 51}`),
  ...inOne('media_ffmpeg_there', steady(1)),
  ...inApi('http_event_streams', `10x100 900x${lifeMinutes - 101}`),
  ...inApi('http_event_streams_refused_total{reason="student"}', `_x50 6x${lifeMinutes - 51}`),
  ...inApi('upload_writes', steady(12)),
  ...inApi('upload_writes_refused_total{reason="student"}', `_x50 9x${lifeMinutes - 51}`),
  ...inApi('http_request_duration_seconds_count{route="/v1/clubs", status="200"}', growing(300)),
  ...inApi('http_request_duration_seconds_count{route="/v1/clubs", status="503"}', `_x50 2x${lifeMinutes - 51}`),
  ...inApi('http_request_duration_seconds_count{route="/readyz", status="503"}', `_x50 60x${lifeMinutes - 51}`),
};

const both = (name: string, values: string, ...fires: Break['fires']): Break => ({
  series: inWorkers(name, values),
  fires,
});

/** For each alert, the series while the watched part is broken. The alert must fire within 90 minutes. */
export const breaks: Readonly<Record<AlertName, Break>> = {
  ProcessAway: {
    series: { ...inOne('up', '1x10 0x100'), ...inApi('up', '1x10 stale') },
    fires: [{ job: 'club-learning-worker', instance: 'w1' }, { job: 'club-learning-api' }],
  },
  FactsLate: both('facts_lag_seconds', '0x10 31+60x100', {}),
  WakesStandStill: {
    series: { ...inWorkers('wakes_waiting', '0x10 1x100'), ...inOne('relay_sent_total{kind="wake"}', '700x110') },
    fires: [{}],
  },
  RelayFails: both('relay_failing_age_seconds{kind="fact"}', '0x10 0+60x100', { kind: 'fact' }),
  RowsWait: both('workflow_rows_due{workflow="studentImport"}', '0x10 1001x100', { workflow: 'studentImport' }),
  RowsLate: both('workflow_rows_due_age_seconds{workflow="webhookDelivery"}', '0x10 301x100', {
    workflow: 'webhookDelivery',
  }),
  RowsFail: both('workflow_rows_failing_age_seconds{workflow="agentAnswer"}', '0x10 0+60x100', {
    workflow: 'agentAnswer',
  }),
  StepsFault: {
    series: inOne('workflow_step_faults_total{workflow="salesNotice"}', '_x10 11+11x100'),
    fires: [{ workflow: 'salesNotice' }],
  },
  SweeperAway: both('sweeper_round_age_seconds', '30x10 30+60x100', {}),
  SweeperRescues: { series: inOne('sweeper_rescued_total', '7x80 8x30'), fires: [{}] },
  ClockWrong: {
    series: inOne('clock_offset_seconds', '0x10 -10.5x100'),
    fires: [{ job: 'club-learning-worker', instance: 'w1' }],
  },
  SnapshotOld: both('postgres_oldest_snapshot_seconds', '0x10 0+60x100', {}),
  RelayErrors: { series: inOne('relay_errors_total{kind="fact"}', '_x80 21x30'), fires: [{ kind: 'fact' }] },
  EndpointsThrottled: both('webhook_endpoints_throttled', '3x80 14x30', {}),
  DeliveriesPile: both('webhook_deliveries_pending', '500x30 900+100x100', {}),
  PartitionMissing: both('webhook_default_partition_rows', '0x10 1x100', {}),
  DeliveriesParked: both('webhook_deliveries_parked', '0x10 100001x100', {}),
  AttemptsFail: {
    series: inOne('webhook_attempts_total{outcome="dns_error"}', '0x10 0+150x100'),
    fires: [{ outcome: 'dns_error' }],
  },
  MailsFail: { series: inOne('mails_total{outcome="failed"}', '0x10 0+20x100'), fires: [{}] },
  AutomationsStandStill: { series: inOne('automation_steps_total{kind="wait"}', '20x120'), fires: [{}] },
  AutomationsHeld: {
    series: { ...inWorkers('automation_runs_held', '20x4400'), ...inWorkers('automation_gates_open', '0x4400') },
    fires: [{}],
    at: 4_380,
  },
  AutomationRunsFail: { series: inOne('automation_runs_ended_total{status="failed"}', '_x80 50x30'), fires: [{}] },
  DigestMailsFail: { series: inOne('digest_mails_total{status="pending"}', '_x10 0+5x100'), fires: [{}] },
  AutomationMailsFail: { series: inOne('automation_mails_total{status="failed"}', '_x10 0+5x100'), fires: [{}] },
  MailEventsForeign: {
    series: {
      ...inApi('mail_events_total{outcome="matched"}', '5x120'),
      ...inApi('mail_events_total{outcome="passed_over"}', '0+1x120'),
    },
    fires: [{}],
  },
  OverageHeld: both('overage_charges_held{reason="currency_without_price"}', '0x10 2x110', {
    reason: 'currency_without_price',
  }),
  SalesNoticesFail: { series: inOne('sales_notices_total{outcome="failed"}', '0+1x120'), fires: [{}] },
  AnswersFail: {
    series: {
      ...inOne('agent_answers_total{status="failed", code="model_overloaded"}', '0+3x120'),
      ...inOne('agent_answers_total{status="failed", code="model_rejected"}', '_x88 1x30'),
    },
    fires: [{ code: 'model_overloaded' }, { code: 'model_rejected' }],
  },
  StreamsGrow: {
    series: inApi('http_event_streams', '10x10 1501x100'),
    fires: [{ job: 'club-learning-api', instance: 'api-1' }],
  },
  StreamsRefused: {
    series: inApi('http_event_streams_refused_total{reason="process"}', '_x80 21x30'),
    fires: [{ reason: 'process' }],
  },
  FirstWordsLate: {
    series: {
      ...inOne('agent_first_words_seconds_bucket{le="5"}', '0+1x120'),
      ...inOne('agent_first_words_seconds_bucket{le="10"}', '0+2x120'),
      ...inOne('agent_first_words_seconds_bucket{le="30"}', '0+40x120'),
      ...inOne('agent_first_words_seconds_bucket{le="+Inf"}', '0+40x120'),
    },
    fires: [{}],
  },
  OperatorPays: {
    series: inOne('agent_cost_micros_total{model="m", payer="operator"}', '0+5000x120'),
    fires: [{}],
  },
  SourcesFail: { series: inOne('agent_sources_total{outcome="failed"}', '0+2x120'), fires: [{}] },
  FfmpegMissing: {
    series: inOne('media_ffmpeg_there', '1x10 0x100'),
    fires: [{ job: 'club-learning-worker', instance: 'w1' }],
  },
  UploadsRefused: {
    series: inApi('upload_writes_refused_total{reason="club"}', '_x80 21x30'),
    fires: [{ reason: 'club' }],
  },
  RequestsRefused: {
    series: inApi('http_request_duration_seconds_count{route="/v1/clubs", status="503"}', '_x86 4+4x30'),
    fires: [{}],
  },
  RequestsFail: {
    series: inApi('http_request_duration_seconds_count{route="/v1/clubs", status="500"}', '_x88 1x30'),
    fires: [{}],
  },
};
