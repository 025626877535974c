/**
 * The only attributes of spans that leave the service. Instrumentations also record URLs, network addresses, statements and error messages,
 * and later versions may record more.
 */
import type { Attributes } from '@opentelemetry/api';
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace';

/** Matches a code or a name of this program. */
const word = /^[\w.:-]{1,80}$/;
/** Such as `webhook-delivery/<id>`. */
const id = /^[\w/-]{1,120}$/;
/** Matches a path pattern of the contract: `/v1/clubs/{clubId}/courses`. */
const pattern = /^[\w/{}.-]{1,200}$/;
const digits = /^-?\d+$/;

/** A value must match the pattern of its attribute to be exported. */
const allowed: Readonly<Record<string, RegExp>> = {
  'http.request.method': word,
  'http.response.status_code': digits,
  'http.route': pattern,
  'error.type': word,
  'db.system.name': word,
  'db.postgresql.plan': word,
  'koa.name': word,
  'koa.type': word,
  'club.fact.id': id,
  'club.fact.type': word,
  'club.facts': digits,
  'club.workflow.id': id,
  'club.workflow.type': word,
  'club.task_queue': word,
  'club.attempt': digits,
};

function allowedAttributes(attributes: Attributes): Record<string, string | number> {
  const passed: Record<string, string | number> = {};
  for (const [name, value] of Object.entries(attributes)) {
    const isSimple = typeof value === 'string' || typeof value === 'number';
    if (isSimple && Object.hasOwn(allowed, name) && allowed[name]?.test(String(value))) passed[name] = value;
  }
  return passed;
}

/** Matches a statement that is not prepared, and captures its first word. */
const statement = /^pg\.query:([A-Za-z_]+)/;

/** Instrumentations build names from data; our own names are constants. */
function nameOf({ name, instrumentationScope }: ReadableSpan, attributes: Record<string, string | number>): string {
  switch (instrumentationScope.name) {
    case 'club-learning':
      return name;
    case '@opentelemetry/instrumentation-koa':
      return `middleware ${attributes['koa.name']}`;
    case '@opentelemetry/instrumentation-pg':
      return `postgres ${attributes['db.postgresql.plan'] ?? statement.exec(name)?.[1]?.toUpperCase() ?? 'statement'}`;
    case '@opentelemetry/instrumentation-http':
    case '@opentelemetry/instrumentation-undici':
      return `${attributes['http.request.method']}`;
    default:
      return 'span';
  }
}

/** @returns the span without events, and without a status message */
function allowedSpan(span: ReadableSpan): ReadableSpan {
  const attributes = allowedAttributes(span.attributes);
  return {
    name: nameOf(span, attributes),
    kind: span.kind,
    spanContext: () => span.spanContext(),
    ...(span.parentSpanContext && { parentSpanContext: span.parentSpanContext }),
    startTime: span.startTime,
    endTime: span.endTime,
    duration: span.duration,
    ended: span.ended,
    status: { code: span.status.code },
    attributes,
    links: span.links.map(({ context }) => ({ context })),
    events: [],
    resource: span.resource,
    instrumentationScope: span.instrumentationScope,
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: span.droppedLinksCount,
  };
}

export function allowListed(exporter: SpanExporter): SpanExporter {
  return {
    export: (spans, callback) => exporter.export(spans.map(allowedSpan), callback),
    shutdown: () => exporter.shutdown(),
    forceFlush: async () => exporter.forceFlush?.(),
  };
}
