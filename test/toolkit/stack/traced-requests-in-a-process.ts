/**
 * A script for telemetry/instrumentations.test.ts. It sends requests to a Koa application, which calls Postgres and other servers. The
 * instrumentations of the packages trace all these calls. The script prints the exported spans, and the headers that the other servers
 * received. Its argument is a text that no span may contain.
 */
import net, { type AddressInfo } from 'node:net';
import { InMemorySpanExporter } from '@opentelemetry/sdk-trace';
import type { Middleware } from '../../../api/middleware/context.ts';
import { useLayers } from '../../../api/middleware/layers.ts';
import { allowListed } from '../../../platform/infra/telemetry/allow-list.ts';
import { hookPackages, traceWith } from '../../../platform/infra/telemetry/start.ts';
import { samplerOf } from '../../../platform/infra/telemetry/sampler.ts';
import { inSpan, nameRequest, useTracer } from '../../../platform/infra/tracing.ts';
import { exportedSpan } from './tracing.ts';

const [needle = ''] = process.argv.slice(2);
const memory = new InMemorySpanExporter();
hookPackages();
const tracer = traceWith(
  { oneByOne: allowListed(memory) },
  'club-learning-test',
  samplerOf({ sampler: 'parentbased_always_on', samplerShare: '1' }),
);
useTracer(tracer);
// These imports come here, because modules that are imported earlier are not traced.
const [{ default: Koa }, { default: pg }, undici, http] = await Promise.all([
  import('koa'),
  import('pg'),
  import('undici'),
  import('node:http'),
]);

const listening = async (server: net.Server) => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
};

/**
 * Starts a server that records the names of the headers that it receives from the application. The server uses plain TCP, because an HTTP
 * server of Node would be traced.
 */
const receivedHeaders: string[][] = [];
const other = await listening(
  net.createServer((socket) =>
    socket.once('data', (head) => {
      receivedHeaders.push([...String(head).matchAll(/^([\w-]+):/gm)].map(([, name = '']) => name.toLowerCase()));
      socket.end(`HTTP/1.1 500 ${needle}\r\nConnection: close\r\nContent-Length: ${needle.length}\r\n\r\n${needle}`);
    }),
  ),
);
const closed = net.createServer();
const nowhere = await listening(closed);
closed.close();

const callOthers = async () => {
  const url = `${other}/${needle}?token=${needle}`;
  const headers = { authorization: `Bearer ${needle}`, 'user-agent': needle };
  await (await undici.request(url, { headers, method: 'POST', body: needle })).body.text();
  await (await fetch(url, { headers })).text();
  await new Promise<void>((resolve, reject) => {
    http.get(url, { headers }, (response) => response.resume().on('end', resolve)).on('error', reject);
  });
  await fetch(`${nowhere}/${needle}`).catch(() => undefined);
};
/** No server listens there, so each statement fails. */
const askPostgres = async (statement: { name?: string; text: string }) => {
  const client = new pg.Client({ host: '127.0.0.1', port: 9, database: needle, user: needle });
  await client.connect().catch(() => undefined);
  await client.query({ values: [needle], ...statement }).catch(() => undefined);
};

const app = new Koa();
app.silent = true;
const { promise: hangs, resolve: hang } = Promise.withResolvers<void>();
/** Returns a middleware function without a name, like most. */
const returned = (layer: Middleware) => layer;
useLayers(app, {
  named: returned(async (_context, next) => {
    nameRequest('/v1/clubs/{clubId}');
    await next();
  }),
  handled: returned(async (context) => {
    if (context.path.endsWith('hang')) {
      hang();
      return new Promise(() => undefined);
    }
    await inSpan('createStudent', {}, async () => {
      await callOthers();
      await askPostgres({ text: `SELECT '${needle}', $1::text` });
      await askPostgres({ name: 'lease_facts', text: 'SELECT $1::text' });
    });
    if (context.path.endsWith('fail')) throw new Error(`of ${needle}`);
    context.body = needle;
  }),
});
const handle = app.callback();
const url = await listening(http.createServer((request, response) => void handle(request, response)));
const traceparent = `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01`;
const ask = async (path: string) => {
  const headers = { traceparent, 'user-agent': needle, 'x-forwarded-for': needle, forwarded: `for=${needle}` };
  const options = { headers, method: 'POST', body: needle };
  await (await fetch(`${url}/${path}`, options)).text();
};

/** Disconnects before the answer. */
const leave = async () => {
  const socket = net.connect(Number(new URL(url).port), '127.0.0.1');
  socket.write(`POST /${needle}/hang HTTP/1.1\r\nHost: ${needle}\r\n\r\n`);
  await hangs;
  socket.destroy();
  while (memory.getFinishedSpans().length === 0) await new Promise((resolve) => setTimeout(resolve, 1));
};
const spansOf = async (work: () => Promise<void>) => {
  memory.reset();
  await work();
  return memory.getFinishedSpans().map(exportedSpan);
};

const untrusted = await spansOf(() => ask(`${needle}?email=${needle}`));
const probes = await spansOf(async () => {
  for (const path of ['healthz', `readyz?${needle}`]) await ask(path);
});
const leavingSpans = await spansOf(leave);
tracer.trust((address) => address === '127.0.0.1' || address === '::ffff:127.0.0.1');
const trusted = await spansOf(() => ask(`${needle}/fail`));
process.stdout.write(JSON.stringify({ untrusted, probes, disconnected: leavingSpans, trusted, receivedHeaders }));
process.exit(0);
