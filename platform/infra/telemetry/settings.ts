/** The variables of tracing, by their standard names. A part of its own: what reads them must not load what it is to trace. */
import { oneOf, optional, secret, text, url } from '../variables.ts';

export const telemetryVariables = {
  endpoint: optional(
    url(
      'OTEL_EXPORTER_OTLP_ENDPOINT',
      'Where traces go: an OTLP receiver, whose `/v1/traces` gets spans (docs/how-to/operate.md). Without it nothing is traced.',
      { protocols: ['http:', 'https:'] },
    ),
  ),
  protocol: oneOf('OTEL_EXPORTER_OTLP_PROTOCOL', 'How spans are sent.', {
    of: ['http/protobuf'],
    default: 'http/protobuf',
  }),
  headers: optional(
    secret(
      text('OTEL_EXPORTER_OTLP_HEADERS', 'Headers for the receiver, such as `api-key=…`, separated by commas.', {
        pattern: /^[\w-]+=[^,]*(,\s*[\w-]+=[^,]*)*$/,
      }),
    ),
  ),
  serviceName: optional(
    text('OTEL_SERVICE_NAME', 'Names the process in traces; without it `club-learning-api` or `club-learning-worker`.'),
  ),
  sampler: oneOf(
    'OTEL_TRACES_SAMPLER',
    'Which traces are kept. In production `parentbased_traceidratio` with a share of 0.05.',
    {
      of: ['parentbased_always_on', 'parentbased_traceidratio', 'parentbased_always_off', 'always_on', 'always_off'],
      default: 'parentbased_always_on',
    },
  ),
  samplerShare: text('OTEL_TRACES_SAMPLER_ARG', 'The share of traces that `parentbased_traceidratio` keeps, 0 to 1.', {
    default: '1',
    pattern: /^(0|1|0?\.\d+|1\.0+)$/,
  }),
};
