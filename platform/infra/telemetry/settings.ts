/** The environment variables of tracing. They have their own file, because it must not load modules that will be traced. */
import { oneOf, optional, secret, text, url } from '../variables.ts';

export const telemetryVariables = {
  endpoint: optional(
    url(
      'OTEL_EXPORTER_OTLP_ENDPOINT',
      'The address of an OTLP receiver. Its `/v1/traces` gets the spans (docs/how-to/operate.md). Without it nothing is traced.',
      { protocols: ['http:', 'https:'] },
    ),
  ),
  protocol: oneOf('OTEL_EXPORTER_OTLP_PROTOCOL', 'The protocol of spans.', {
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
    text(
      'OTEL_SERVICE_NAME',
      'The name of the process in traces. The default is `club-learning-api` or `club-learning-worker`.',
    ),
  ),
  sampler: oneOf(
    'OTEL_TRACES_SAMPLER',
    'The rule by which traces are chosen to be stored. In production use `parentbased_traceidratio` with a share of 0.05.',
    {
      of: ['parentbased_always_on', 'parentbased_traceidratio', 'parentbased_always_off', 'always_on', 'always_off'],
      default: 'parentbased_always_on',
    },
  ),
  samplerShare: text('OTEL_TRACES_SAMPLER_ARG', 'The share of traces that `parentbased_traceidratio` stores, 0 to 1.', {
    default: '1',
    pattern: /^(0|1|0?\.\d+|1\.0+)$/,
  }),
};
