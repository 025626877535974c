/** The cost of a long history: lists, claims and retention, with 10,000 and with 5,000,000 deliveries of one endpoint. */
import { readConfig } from '../../config.ts';
import { Database, Queries } from '../../platform/infra/postgres/database.ts';
import { newId, type Id } from '../../platform/core/ids.ts';
import { claimAttempt } from '../../domain/webhooks/attempts/claims.ts';
import { listDeliveries, type DeliveryFilter } from '../../domain/webhooks/deliveries/deliveries.ts';
import { retentionRules } from '../../domain/webhooks/deliveries/retention.policy.ts';
import { retainWebhooks } from '../../domain/webhooks/retention.ts';
import { createDataSource } from '../../entities/data-source.ts';
import { migrate } from '../../commands/migrate.ts';
import { loadHistory, type History } from './history-load.ts';
import { median, onFreshStack, progress, quantile, report, type Bench } from '../support.ts';

const sizes = { short: 10_000, long: 5_000_000 };
const samples = { list: 200, claim: 200, retention: 50 };
/** A measurement has this number of phases, one after another. */
const spells = 5;
/** These reads open connections and load pages into memory, as in a running service. */
const warmUps = 20;
/** Deliveries that become 30 or 90 days old between two rounds of retention, in the short and in the long history. */
const dueARound = 50;

/** Milliseconds. */
type Figures = Readonly<Record<string, number>>;

export async function benchHistory(): Promise<void> {
  const onStack = async ({ env }: Bench) => {
    const config = readConfig(env).database;
    const source = await createDataSource(config, 'club-bench').initialize();
    try {
      await migrate(source);
      const db = new Database(source, { notify() {} });
      const endpoint = await seedEndpoint(db);
      const measure = async (deliveries: number) => {
        const history = { ...endpoint, deliveries, pending: samples.claim + warmUps, end: new Date() };
        const started = performance.now();
        const pending = await loadHistory(db, config.url.reveal(), history);
        progress(`${deliveries} deliveries loaded in ${Math.round((performance.now() - started) / 1_000)} s`);
        return measureAt(db, history, pending);
      };
      const short = await measure(sizes.short);
      const long = await measure(sizes.long);
      for (const [figure, value] of Object.entries(long)) {
        const before = short[figure] ?? Number.NaN;
        report(`${figure} p95 ms`, { value, [`at ${sizes.short} deliveries`]: before, ratio: value / before });
      }
    } finally {
      await source.destroy();
    }
  };
  await onFreshStack(['postgres'], onStack, { durable: true });
}

async function seedEndpoint({ source }: Database): Promise<Pick<History, 'clubId' | 'endpointId'>> {
  const [clubId, endpointId] = [newId(), newId()];
  await source.query(`INSERT INTO clubs (id, name, slug, created_at) VALUES ($1, 'Club', 'club', now())`, [clubId]);
  await source.query(
    `INSERT INTO webhook_endpoints (id, club_id, url, event_types, secret, created_at, updated_at)
     VALUES ($1, $2, 'https://hooks.example.com', '{lesson.completed}', '', now(), now())`,
    [endpointId, clubId],
  );
  return { clubId, endpointId };
}

/** @returns the p95 of each measurement */
async function measureAt(db: Database, history: History, pending: readonly Id[]): Promise<Figures> {
  const figures: Record<string, number> = {};
  for (const [name, filter] of Object.entries(filters)) {
    figures[name] = await p95(samples.list, () => list(db, history, filter(history)));
  }
  figures['claim'] = await p95(samples.claim, (nth) => claim(db, pending[nth] ?? '', history.end));
  const paceMs = (retentionRules.historyMs / history.deliveries) * dueARound;
  figures['retention round'] = await p95(samples.retention, async (nth) => {
    await retainWebhooks(db, new Date(history.end.getTime() + (nth + 1) * paceMs));
  });
  return figures;
}

/** The first page of the list: without a filter, or by status, by type, by both, or by two times that are not whole hours. */
const filters: Readonly<Record<string, (history: History) => Partial<DeliveryFilter>>> = {
  list: () => ({}),
  'list by status': () => ({ status: 'failed' }),
  'list by type': () => ({ event_type: 'student.removed' }),
  'list by both': () => ({ status: 'failed', event_type: 'course.completed' }),
  'list by date': ({ end }) => {
    const since = end.getTime() - retentionRules.historyMs * (0.2 + 0.8 * Math.random());
    const until = since + retentionRules.historyMs * 0.2 * Math.random();
    return { since: new Date(since).toISOString(), until: new Date(until).toISOString() };
  },
};

async function list({ source }: Database, history: History, filter: Partial<DeliveryFilter>): Promise<void> {
  const page = { page: 1, page_size: 20, ...filter };
  await listDeliveries(new Queries(source.manager), history.clubId, history.endpointId, page, history.end);
}

/** @throws Error when the delivery cannot be claimed: such a claim is quick, so the figure would be too good */
async function claim({ source }: Database, id: string, now: Date): Promise<void> {
  if ((await claimAttempt(source, id, now.getTime())) === undefined) throw new Error(`${id} could not be claimed`);
}

/** @param work gets the number of the call, from 0, with the warm-up */
async function p95(count: number, work: (nth: number) => Promise<void>): Promise<number> {
  const warming = Math.min(warmUps, Math.ceil(count / 10));
  const took: number[] = [];
  for (let nth = 0; nth < warming + count; nth++) {
    const started = performance.now();
    await work(nth);
    if (nth >= warming) took.push(performance.now() - started);
  }
  // The median of the phases' p95, so that one phase with other load does not determine the result.
  const length = took.length / spells;
  return median(
    Array.from({ length: spells }, (_, spell) => quantile(took.slice(spell * length, (spell + 1) * length), 0.95)),
  );
}
