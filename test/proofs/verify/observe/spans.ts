/** A receiver of OTLP over HTTP, and the search for the trace of a sign-up in the received spans. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { host } from '../../../../dev/stack/ports.ts';
import { Problem } from '../../../../dev/problem.ts';

export interface SentSpan {
  service: string;
  traceId: string;
  spanId: string;
  /** The id of the parent span, which is empty for the first span of a trace. */
  parentId: string;
  name: string;
}

interface SpanReceiver {
  /** The URL for `OTEL_EXPORTER_OTLP_ENDPOINT`. */
  readonly url: string;
  spans(): SentSpan[];
  /** Returns the bytes of all requests as text. The names and values in them are UTF-8, so a search finds them. */
  text(): string;
  stop(): Promise<void>;
}

export async function startSpanReceiver(): Promise<SpanReceiver> {
  const bodies: Buffer[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      if (request.url === '/v1/traces') bodies.push(Buffer.concat(chunks));
      response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  return {
    url: `http://${host}:${(server.address() as AddressInfo).port}`,
    spans: () => bodies.flatMap(spansIn),
    text: () => bodies.map((body) => body.toString('utf8')).join('\n'),
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/**
 * From the API request to the request to the receiver, without the spans of the Koa middleware.
 */
const expectedNames = [
  'POST /v1/clubs/{clubId}/classroom/sign-up',
  'signUpStudent',
  'fact student.created',
  'start webhookDelivery',
  'attemptDelivery',
  'POST',
];

/** @throws Problem when no trace connects a sign-up, through API and worker, with the receiver */
export function requireTraceOfASignUp(spans: readonly SentSpan[]): number {
  const byId = new Map(spans.map((span) => [span.spanId, span]));
  const paths = spans
    .filter(({ name, service }) => name === 'POST' && service === 'club-learning-worker')
    .map((last) => {
      const spansOfPath: SentSpan[] = [];
      for (let one: SentSpan | undefined = last; one; one = byId.get(one.parentId)) spansOfPath.unshift(one);
      return spansOfPath;
    });
  const path = paths.find((way) => {
    const names = way.map(({ name }) => name).filter((name) => !name.startsWith('middleware '));
    return names.join(' > ') === expectedNames.join(' > ');
  });
  if (!path) {
    const texts = [...new Set(paths.map((way) => way.map(({ name }) => name).join(' > ')))];
    throw new Problem(`No trace connects a sign-up with the receiver. These traces end there:\n${texts.join('\n')}`);
  }
  const services = new Set(path.map(({ service }) => service));
  const traces = new Set(path.map(({ traceId }) => traceId));
  if (services.size !== 2 || traces.size !== 1)
    throw new Problem('The spans of a sign-up are not in one trace of API and worker');
  return spans.filter(({ traceId }) => traces.has(traceId)).length;
}

/** Reads some fields of ExportTraceServiceRequest (opentelemetry-proto) by their numbers. */
function spansIn(body: Buffer): SentSpan[] {
  return messages(body, 1).flatMap((resourceSpans) => {
    const attributes = messages(resourceSpans, 1).flatMap((resource) => messages(resource, 1));
    const name = attributes.find((attribute) => textOf(attribute, 1) === 'service.name');
    const service = name ? messages(name, 2).map((value) => textOf(value, 1))[0] : undefined;
    return messages(resourceSpans, 2)
      .flatMap((scopeSpans) => messages(scopeSpans, 2))
      .map((span) => ({
        service: service ?? '',
        traceId: hexOf(span, 1),
        spanId: hexOf(span, 2),
        parentId: hexOf(span, 4),
        name: textOf(span, 5),
      }));
  });
}

const textOf = (message: Buffer, field: number) => messages(message, field)[0]?.toString('utf8') ?? '';
const hexOf = (message: Buffer, field: number) => messages(message, field)[0]?.toString('hex') ?? '';

/** @returns the values of a length-delimited Protobuf field */
function messages(message: Buffer, field: number): Buffer[] {
  const values: Buffer[] = [];
  let at = 0;
  const varint = () => {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = message.readUInt8(at++);
      value += (byte & 127) * factor;
      if (byte < 128) return value;
    }
  };
  while (at < message.length) {
    const tag = varint();
    const wireType = tag & 7;
    if (wireType === 0) varint();
    else if (wireType === 1) at += 8;
    else if (wireType === 5) at += 4;
    else if (wireType === 2) {
      const length = varint();
      if (Math.floor(tag / 8) === field) values.push(message.subarray(at, at + length));
      at += length;
    } else throw new Problem(`OTLP has no wire type ${wireType}`);
  }
  return values;
}
