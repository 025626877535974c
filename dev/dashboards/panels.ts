/** The content of the dashboards. Each metric of the service is in a panel. */

export interface Panel {
  readonly title: string;
  /** A Grafana unit: `s`, `short`, `ops`. */
  readonly unit: string;
  /** Expressions in PromQL, each with the name of its line in the panel. */
  readonly queries: readonly (readonly [expr: string, legend: string])[];
}

interface Board {
  readonly title: string;
  readonly panels: readonly Panel[];
}

/** The increase of a counter in a minute, summed over all processes. */
const pace = (counter: string, by: string): readonly [string, string] => [
  `sum by (${by}) (rate(${counter}[$__rate_interval])) * 60`,
  by
    .split(', ')
    .map((label) => `{{${label}}}`)
    .join(' '),
];
const perMinute = 'short';

/** Every worker reads such a gauge from Postgres. */
const newestGauge = (gauge: string, by?: string): readonly [string, string] =>
  by === undefined ? [`max(${gauge})`, gauge] : [`max by (${by}) (${gauge})`, `{{${by}}}`];

const quantiles = (histogram: string): Panel['queries'] =>
  [0.5, 0.95, 0.99].map((quantile) => [
    `histogram_quantile(${quantile}, sum by (le) (rate(${histogram}_bucket[$__rate_interval])))`,
    `p${quantile * 100}`,
  ]);

export const boards: Readonly<Record<string, Board>> = {
  engine: {
    title: 'Club learning: engine',
    panels: [
      {
        title: 'Processes that are reached',
        unit: 'short',
        queries: [['sum by (job) (up{job=~"club-learning-.+"})', '{{job}}']],
      },
      { title: 'Age of the oldest fact', unit: 's', queries: [newestGauge('facts_lag_seconds')] },
      {
        title: 'Facts and wakes that wait',
        unit: 'short',
        queries: [newestGauge('facts_waiting'), newestGauge('wakes_waiting')],
      },
      { title: 'Facts and wakes sent, a minute', unit: perMinute, queries: [pace('relay_sent_total', 'kind')] },
      {
        title: 'Facts and wakes that could not be sent, a minute',
        unit: perMinute,
        queries: [pace('relay_errors_total', 'kind')],
      },
      { title: 'Facts and wakes that fail', unit: 'short', queries: [newestGauge('relay_failing', 'kind')] },
      {
        title: 'Age of the oldest failure of a fact or wake',
        unit: 's',
        queries: [newestGauge('relay_failing_age_seconds', 'kind')],
      },
      { title: 'Rows that are due', unit: 'short', queries: [newestGauge('workflow_rows_due', 'workflow')] },
      {
        title: 'Age of the oldest row that is due',
        unit: 's',
        queries: [newestGauge('workflow_rows_due_age_seconds', 'workflow')],
      },
      { title: 'Rows whose steps fail', unit: 'short', queries: [newestGauge('workflow_rows_failing', 'workflow')] },
      {
        title: 'Age of the oldest failure of a step',
        unit: 's',
        queries: [newestGauge('workflow_rows_failing_age_seconds', 'workflow')],
      },
      {
        title: 'Steps that failed, a minute',
        unit: perMinute,
        queries: [pace('workflow_step_faults_total', 'workflow')],
      },
      {
        title: 'Sweeper: age of its last round, and runs that it woke',
        unit: 'short',
        queries: [
          newestGauge('sweeper_round_age_seconds'),
          ['sum(increase(sweeper_rescued_total[$__rate_interval]))', 'woken'],
        ],
      },
      { title: 'Age of the oldest snapshot', unit: 's', queries: [newestGauge('postgres_oldest_snapshot_seconds')] },
      { title: 'Clocks ahead of Postgres', unit: 's', queries: [['clock_offset_seconds', '{{job}} {{instance}}']] },
    ],
  },
  webhooks: {
    title: 'Club learning: webhooks',
    panels: [
      { title: 'Attempts by outcome, a minute', unit: perMinute, queries: [pace('webhook_attempts_total', 'outcome')] },
      {
        title: 'Attempts without an answer, by cause, a minute',
        unit: perMinute,
        queries: [pace('webhook_attempts_without_answer_total', 'cause')],
      },
      {
        title: 'Deliveries',
        unit: 'short',
        queries: [newestGauge('webhook_deliveries_pending'), newestGauge('webhook_deliveries_parked')],
      },
      { title: 'Throttled endpoints', unit: 'short', queries: [newestGauge('webhook_endpoints_throttled')] },
      {
        title: 'First attempts by lane, a minute',
        unit: perMinute,
        queries: [pace('webhook_first_attempts_total', 'lane')],
      },
      {
        title: 'Direct attempts',
        unit: 'short',
        queries: [
          ['sum by (instance) (webhook_direct_attempts)', '{{instance}}'],
          ['sum(increase(webhook_direct_handed_over_total[$__rate_interval]))', 'handed over'],
        ],
      },
      { title: 'Facts fanned out together', unit: 'short', queries: quantiles('webhook_facts_together') },
      { title: 'Attempts recorded together', unit: 'short', queries: quantiles('webhook_records_together') },
      { title: 'Rows without a partition', unit: 'short', queries: [newestGauge('webhook_default_partition_rows')] },
    ],
  },
  mails: {
    title: 'Club learning: mails and automations',
    panels: [
      { title: 'Transactional mails, a minute', unit: perMinute, queries: [pace('mails_total', 'outcome')] },
      {
        title: 'Codes to telephone numbers, a minute',
        unit: perMinute,
        queries: [pace('phone_codes_total', 'outcome')],
      },
      { title: 'Mails of campaigns, a minute', unit: perMinute, queries: [pace('campaign_mails_total', 'status')] },
      { title: 'Mails of automations, a minute', unit: perMinute, queries: [pace('automation_mails_total', 'status')] },
      { title: 'Daily mails of spaces, a minute', unit: perMinute, queries: [pace('digest_mails_total', 'status')] },
      {
        title: 'Charges for overage that are held',
        unit: 'short',
        queries: [newestGauge('overage_charges_held', 'reason')],
      },
      { title: 'Events of mail providers, a minute', unit: perMinute, queries: [pace('mail_events_total', 'outcome')] },
      {
        title: 'Messages in the mailbox of reports, a minute',
        unit: perMinute,
        queries: [pace('mail_reports_total', 'outcome')],
      },
      {
        title: 'Runs of automations',
        unit: 'short',
        queries: [
          newestGauge('automation_runs_active'),
          newestGauge('automation_runs_held'),
          newestGauge('automation_gates_open'),
        ],
      },
      { title: 'Steps of automations, a minute', unit: perMinute, queries: [pace('automation_steps_total', 'kind')] },
      {
        title: 'Runs of automations that ended, a minute',
        unit: perMinute,
        queries: [pace('automation_runs_ended_total', 'status')],
      },
    ],
  },
  clubs: {
    title: 'Club learning: requests, agents, files and sales',
    panels: [
      {
        title: 'Requests by status, a minute',
        unit: perMinute,
        queries: [pace('http_request_duration_seconds_count', 'status')],
      },
      { title: 'Duration of requests', unit: 's', queries: quantiles('http_request_duration_seconds') },
      {
        title: 'The ten slowest routes (p95)',
        unit: 's',
        queries: [
          [
            'topk(10, histogram_quantile(0.95, sum by (le, route) (rate(http_request_duration_seconds_bucket[$__rate_interval]))))',
            '{{route}}',
          ],
        ],
      },
      {
        title: 'Requests to deprecated operations, a minute',
        unit: perMinute,
        queries: [pace('http_deprecated_requests_total', 'operation, caller')],
      },
      { title: 'Open streams', unit: 'short', queries: [['sum by (instance) (http_event_streams)', '{{instance}}']] },
      {
        title: 'Streams refused, a minute',
        unit: perMinute,
        queries: [pace('http_event_streams_refused_total', 'reason')],
      },
      { title: 'First words of answers', unit: 's', queries: quantiles('agent_first_words_seconds') },
      { title: 'Answers of agents, a minute', unit: perMinute, queries: [pace('agent_answers_total', 'status, code')] },
      { title: 'Tokens, a minute', unit: perMinute, queries: [pace('agent_tokens_total', 'model, kind')] },
      {
        title: 'Cost in millionths of a US dollar, a minute',
        unit: perMinute,
        queries: [pace('agent_cost_micros_total', 'model, payer')],
      },
      { title: 'Sources indexed, a minute', unit: perMinute, queries: [pace('agent_sources_total', 'outcome')] },
      {
        title: 'Scanned files read by OCR, a minute',
        unit: perMinute,
        queries: [pace('agent_sources_ocr_total', 'outcome')],
      },
      {
        title: 'Notices of sales platforms, a minute',
        unit: perMinute,
        queries: [pace('sales_notices_total', 'outcome')],
      },
      { title: 'Files processed, a minute', unit: perMinute, queries: [pace('media_files_total', 'outcome')] },
      { title: 'Exports of students, a minute', unit: perMinute, queries: [pace('student_exports_total', 'outcome')] },
      { title: 'Files moved, a minute', unit: perMinute, queries: [pace('media_moves_total', 'outcome')] },
      {
        title: 'Requests for subtitles by the command, a minute',
        unit: perMinute,
        queries: [pace('media_transcriptions_total', 'outcome')],
      },
      { title: 'ffmpeg is there', unit: 'short', queries: [['media_ffmpeg_there', '{{instance}}']] },
      {
        title: 'Writes of uploads',
        unit: 'short',
        queries: [
          ['sum by (instance) (upload_writes)', 'in pieces: {{instance}}'],
          ['sum by (instance) (single_upload_writes)', 'in one request: {{instance}}'],
        ],
      },
      {
        title: 'Uploads that were refused, or gave up their permit, a minute',
        unit: perMinute,
        queries: [
          [pace('upload_writes_refused_total', 'reason')[0], 'refused: {{reason}}'],
          [pace('upload_writes_gave_way_total', 'reason')[0], 'gave way: {{reason}}'],
        ],
      },
      {
        title: 'Downloads of archives',
        unit: 'short',
        queries: [
          ['sum by (instance) (archive_downloads)', '{{instance}}'],
          [pace('archive_downloads_refused_total', 'reason')[0], 'refused a minute: {{reason}}'],
        ],
      },
    ],
  },
};
