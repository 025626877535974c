/**
 * `npm run bench -- sales` measures three things: accepted notices a second, beside a bare Koa route with this insert; sales of one club a
 * second, until their three facts (account, purchase, access) have reached the endpoint; and the wait of a sale while other transactions
 * lock the club's count of students. Each lock lasts 11 s, longer than any import (ENG-17).
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Database, Transaction } from '../platform/infra/postgres/database.ts';
import autocannon from 'autocannon';
import type { DataSource } from 'typeorm';
import { readConfig } from '../config.ts';
import { startReceiver } from '../dev/clients/receiver.ts';
import { newId, type Id } from '../platform/core/ids.ts';
import { createVault } from '../platform/infra/keys/vault.ts';
import { createConnection } from '../domain/sales/platforms/connections.ts';
import { newSecret } from '../domain/webhooks/endpoints/secrets.ts';
import { createDataSource } from '../entities/data-source.ts';
import { migrate } from '../commands/migrate.ts';
import { lockStudentCount } from '../domain/billing/allowances.ts';
import {
  laneSettings,
  median,
  onFreshStack,
  progress,
  report,
  reportBeside,
  waitUntil,
  type Bench,
  type Round,
} from './support.ts';
import { withCost } from './webhooks/scene.ts';

const rounds = 5;
const secondsARound = 4;
/** This number keeps a process busy, but no request waits long. */
const connections = 16;
/** The sales of a round, and the facts of a sale. */
const salesARound = 60;
const factsASale = 3;
const deliveryRounds = 3;

export const salesMeasurements = ['accepted', 'delivered', 'held'];

/** @param selection names from `salesMeasurements` */
export async function benchSales(selection: readonly string[]): Promise<void> {
  const onStack = async (bench: Bench) => {
    const config = readConfig(bench.env);
    const source = await createDataSource(config.database, 'club-bench').initialize();
    await migrate(source);
    const shop = await openShop(source, config);
    // The limit of 600 a minute is for each address, so each notice has its own.
    const { port } = await bench.launch('api/server.ts', 'API_PORT', { TRUSTED_PROXIES: '127.0.0.0/8' });
    if (selection.includes('accepted')) await measureAccepted(bench, source, port, shop.path);
    if (selection.includes('delivered')) await measureDelivered(bench, source, port, shop);
    if (selection.includes('held')) await measureHeld(bench, source, port, shop);
    await source.destroy();
  };
  await onFreshStack(['temporal', 'postgres', 'mailbox'], onStack, { durable: true });
}

interface BenchShop {
  clubId: Id;
  path: string;
  seal: (secret: string, id: Id) => Buffer;
}

/** A connection to a sales platform, and a product whose sale grants one delivery. */
async function openShop(source: DataSource, { masterKey }: ReturnType<typeof readConfig>): Promise<BenchShop> {
  const [clubId, courseId, deliveryId, productId] = [newId(), newId(), newId(), newId()];
  const vault = createVault(masterKey);
  await source.query(`INSERT INTO clubs (id, name, slug, created_at) VALUES ($1, 'Club', 'club', now())`, [clubId]);
  await source.query(
    `INSERT INTO courses (id, club_id, public_id, title, status, created_at, updated_at) VALUES ($1, $2, 'knots', 'Knots', 'published', now(), now())`,
    [courseId, clubId],
  );
  await source.query(
    `INSERT INTO access_deliveries (id, club_id, name, kind, course_id, created_at, updated_at) VALUES ($1, $2, 'Knots', 'course', $3, now(), now())`,
    [deliveryId, clubId, courseId],
  );
  await source.query(
    `INSERT INTO products (id, club_id, platform, external_id, name, created_at, updated_at) VALUES ($1, $2, 'generic', 'knots', 'Knots', now(), now())`,
    [productId, clubId],
  );
  await source.query(`INSERT INTO product_deliveries (product_id, delivery_id) VALUES ($1, $2)`, [
    productId,
    deliveryId,
  ]);
  const deps = { db: new Database(source, { notify() {} }), vault, publicUrl: '', classroomUrl: '' };
  const { url } = await createConnection(deps, clubId, { platform: 'generic', name: 'Shop' }, new Date());
  return { clubId, path: url, seal: (secret, id) => vault.seal(secret, id) };
}

let count = 0;
/** A new buyer. */
function nextNotice(): string {
  count += 1;
  return JSON.stringify({
    event: 'purchase.paid',
    occurred_at: '2026-03-02T09:15:00Z',
    product: { id: 'knots' },
    buyer: { email: `buyer-${count}@example.com`, name: 'Bea Buyer', document: '69526128664' },
    purchase: { id: `sale-${count}`, amount: 4_900, currency: 'EUR', paid_at: '2026-03-02T09:14:40Z' },
  });
}

const addressOf = (number: number) => `10.${(number >> 16) & 255}.${(number >> 8) & 255}.${number & 255}`;

/** No worker runs, so only the receipt is measured. */
async function measureAccepted({ launch }: Bench, source: DataSource, ours: number, path: string): Promise<void> {
  const { port: bare, child } = await launch('bench/ceiling/notice-route.ts', 'CEILING_PORT');
  progress('warming up');
  await acceptedPerSecond(ours, path);
  await acceptedPerSecond(bare, path);
  const measured: Round[] = [];
  for (let round = 1; round <= rounds; round++) {
    const figures = { ours: await acceptedPerSecond(ours, path), bare: await acceptedPerSecond(bare, path) };
    measured.push(figures);
    progress(`round ${round}: ${Math.round(figures.ours)} notices/s, bare route ${Math.round(figures.bare)}/s`);
  }
  await child.stop();
  reportBeside('notices accepted/s', measured);
  await source.query(`TRUNCATE sales_notices, wakes`);
}

/** @throws Error if any answer is not 202: refusals are quick, so the rate would be too high */
async function acceptedPerSecond(port: number, path: string): Promise<number> {
  const result = await autocannon({
    url: `http://127.0.0.1:${port}`,
    connections,
    duration: secondsARound,
    requests: [
      {
        method: 'POST',
        path,
        setupRequest: (request) => {
          const body = nextNotice();
          const headers = { 'content-type': 'application/json', 'x-forwarded-for': addressOf(count) };
          return { ...request, body, headers };
        },
      },
    ],
  });
  if (result.non2xx > 0 || result.errors > 0) throw new Error(`${result.non2xx} refusals, ${result.errors} errors`);
  return result.requests.total / result.duration;
}

/** Measures from the first notice until the last fact has reached the receiver. */
async function measureDelivered(
  { stack, launch }: Bench,
  source: DataSource,
  port: number,
  shop: BenchShop,
): Promise<void> {
  const arrived = new Set<string>();
  const receiver = await startReceiver({
    certificate: await stack.authority.issue(['127.0.0.1']),
    respond: (request) => {
      arrived.add(request.headers['webhook-id'] ?? '');
      return { status: 204 };
    },
  });
  const endpointId = newId();
  await source.query(
    `INSERT INTO webhook_endpoints (id, club_id, url, event_types, secret, created_at, updated_at)
     VALUES ($1, $2, $3, '{student.created,purchase.paid,access.granted}', $4, now(), now())`,
    [endpointId, shop.clubId, receiver.url, shop.seal(newSecret(), endpointId)],
  );
  const worker = await launch('worker/main.ts', 'WORKER_PORT', laneSettings());
  const costs = { db: new Database(source, { notify() {} }), pids: stack.pids };
  const perSecond = async (sales: number) => {
    const expected = arrived.size + sales * factsASale;
    const started = performance.now();
    await Promise.all(Array.from({ length: sales }, () => send(port, shop.path)));
    await waitUntil(`${expected} facts have arrived`, () => arrived.size >= expected, {
      timeoutMs: 120_000,
      progressSoFar: () => `${arrived.size} have`,
    });
    return (sales * 1_000) / (performance.now() - started);
  };
  progress('warming up the worker');
  await perSecond(salesARound / 4);
  const figures: number[] = [];
  for (let round = 1; round <= deliveryRounds; round++) {
    figures.push(await withCost(costs, 'worker', worker.child.pid, salesARound, () => perSecond(salesARound)));
    progress(`round ${round}: ${figures.at(-1)?.toFixed(1)} sales/s`);
  }
  report('sales of one club to one endpoint/s', { value: median(figures), 'facts/s': median(figures) * factsASale });
  await worker.child.stop();
  await receiver.stop();
}

/** The number of locks, their duration, and the time between two locks. */
const holds = 4;
const holdMs = 11_000;
const freeMs = 50;
const heldSales = 12;
const limitMs = 120_000;

/** A sale to a new buyer needs the lock on the club's count of students. Another transaction holds it nearly all the time. */
async function measureHeld({ launch }: Bench, source: DataSource, port: number, shop: BenchShop): Promise<void> {
  const worker = await launch('worker/main.ts', 'WORKER_PORT');
  await source.query('TRUNCATE sales_notices');
  const waits = new Map<Id, number>();
  const look = async () => {
    const rows = await source.query<{ id: Id; receivedAt: Date }[]>(
      `SELECT id, received_at AS "receivedAt" FROM sales_notices WHERE status = 'processed' AND NOT id = ANY ($1)`,
      [[...waits.keys()]],
    );
    for (const { id, receivedAt } of rows) waits.set(id, (Date.now() - receivedAt.getTime()) / 1_000);
  };
  const untilProcessed = (expected: number) =>
    waitUntil(`${expected} notices are processed`, async () => (await look(), waits.size >= expected), {
      timeoutMs: limitMs,
      progressSoFar: () => `${waits.size} are`,
    });
  await send(port, shop.path);
  await untilProcessed(1);
  waits.clear();
  await source.query('TRUNCATE sales_notices');
  const all = untilProcessed(heldSales);
  const sending = (async () => {
    for (let sale = 1; sale <= heldSales; sale++) {
      await sleep((holds * holdMs) / heldSales);
      await send(port, shop.path);
    }
  })();
  for (let hold = 1; hold <= holds; hold++) {
    await source.transaction(async (manager) => {
      await lockStudentCount(new Transaction(manager), shop.clubId);
      await sleep(holdMs);
    });
    progress(`hold ${hold}: ${waits.size} of ${heldSales} notices are processed`);
    await sleep(freeMs);
  }
  await Promise.all([sending, all]);
  const [most] = await source.query<{ tries: number }[]>(`SELECT max(attempt_count) AS tries FROM sales_notices`);
  const seconds = [...waits.values()];
  report(`s until a sale is processed while its club’s count is held ${holdMs / 1_000} s at a time`, {
    value: median(seconds),
    max: Math.max(...seconds),
    'most tries': most?.tries ?? Number.NaN,
  });
  await worker.child.stop();
}

async function send(port: number, path: string): Promise<void> {
  const body = nextNotice();
  const headers = { 'content-type': 'application/json', 'x-forwarded-for': addressOf(count) };
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, { method: 'POST', headers, body });
  if (answer.status !== 202) throw new Error(`A notice was answered ${answer.status}.`);
}
