/** Alerts on the features that clubs and students use: sales, agents, files, and requests to the API. */
import { badShare, growth, type Alert } from './alert.ts';

const answers = 'code=~"model_.+|interrupted"';
const failed = growth(`agent_answers_total{${answers}}`, '15m', ['code']);

export const clubAlerts = {
  OverageHeld: {
    expr: 'max by (reason) (overage_charges_held) > 0',
    lasting: '1h',
    severity: 'warning',
    summary: '{{ $value }} charges for overage do not go through: {{ $labels.reason }}.',
  },
  SalesNoticesFail: {
    expr: badShare('sales_notices_total', 'outcome="failed"', { share: 0.3, atLeast: 5, window: '1h' }),
    lasting: '0m',
    severity: 'warning',
    summary: '{{ $value | humanize }} notices of sales platforms have failed within an hour.',
  },
  AnswersFail: {
    expr: `${failed} > on () group_left () 0.2 * ${growth('agent_answers_total', '15m')} and ${failed} >= 5 or ${growth('agent_answers_total{code="model_rejected"}', '15m', ['code'])} > 0`,
    lasting: '0m',
    severity: 'critical',
    summary: '{{ $value | humanize }} answers of agents have ended with {{ $labels.code }} within 15 minutes.',
  },
  StreamsGrow: {
    expr: 'http_event_streams > 1500',
    lasting: '15m',
    severity: 'warning',
    summary: '{{ $labels.instance }} has {{ $value }} open streams; a process allows 2,000.',
  },
  StreamsRefused: {
    expr: `${growth('http_event_streams_refused_total', '15m', ['reason'])} > 20`,
    lasting: '0m',
    severity: 'warning',
    summary:
      '{{ $value | humanize }} streams were refused within 15 minutes, because of the limit per {{ $labels.reason }}.',
  },
  FirstWordsLate: {
    expr: 'histogram_quantile(0.95, sum by (le) (rate(agent_first_words_seconds_bucket[15m]))) > 15',
    lasting: '10m',
    severity: 'warning',
    summary: 'Students wait {{ $value | humanizeDuration }} for the first words of an answer (p95).',
  },
  OperatorPays: {
    expr: badShare('agent_cost_micros_total', 'payer="operator"', { share: 0.05, atLeast: 100_000, window: '1h' }),
    lasting: '0m',
    severity: 'warning',
    summary:
      'Calls to the model whose workers died cost the operator {{ $value | humanize }} millionths of a dollar within an hour.',
  },
  SourcesFail: {
    expr: badShare('agent_sources_total', 'outcome="failed"', { share: 0.5, atLeast: 10, window: '1h' }),
    lasting: '0m',
    severity: 'warning',
    summary: '{{ $value | humanize }} sources failed to be indexed within an hour, more than half of all.',
  },
  FfmpegMissing: {
    expr: 'media_ffmpeg_there == 0',
    lasting: '10m',
    severity: 'warning',
    summary:
      'The worker {{ $labels.instance }} finds no ffmpeg that creates renditions. Videos stay as they were uploaded.',
  },
  UploadsRefused: {
    expr: `${growth('upload_writes_refused_total', '15m', ['reason'])} > 20`,
    lasting: '0m',
    severity: 'warning',
    summary:
      '{{ $value | humanize }} writes of uploads were refused within 15 minutes, because of the limit per {{ $labels.reason }}.',
  },
  RequestsRefused: {
    expr: `${growth('http_request_duration_seconds_count{status="503", route!="/readyz"}', '5m')} > 5`,
    lasting: '1m',
    severity: 'critical',
    summary: '{{ $value | humanize }} requests were answered with 503 within 5 minutes.',
  },
  RequestsFail: {
    expr: `${growth('http_request_duration_seconds_count{status="500"}', '5m')} > 0`,
    lasting: '0m',
    severity: 'critical',
    summary: '{{ $value | humanize }} requests have failed by an internal error within 5 minutes.',
  },
} as const satisfies Record<string, Alert>;
