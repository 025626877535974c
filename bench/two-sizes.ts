/** Compares reads with 1,000 and with 1,000,000 records: the p95, its growth, and the used index. */
import { readConfig, type Config } from '../config.ts';
import { createDataSource } from '../entities/data-source.ts';
import { migrate } from '../commands/migrate.ts';
import { Secret } from '../platform/core/secret.ts';
import { Database, type Queries } from '../platform/infra/postgres/database.ts';
import { indexesOf } from './reads-plans.ts';
import { median, onFreshStack, progress, quantile, report } from './support.ts';

const sizes = { short: 1_000, long: 1_000_000 };
const samples = 200;
/** A measurement has this number of phases, one after another. */
const spells = 5;
const warmUps = 20;

/** @param subject the data in the database */
export type Read<Subject> = (tx: Queries, subject: Subject, records: number) => Promise<unknown>;

interface Scene<Subject> {
  db: Database;
  subject: Subject;
  records: number;
}

export interface Comparisons<Subject> {
  sizes: (figure: string, read: Read<Subject>) => Promise<void>;
  /**
   * Compares two reads of the large database by their medians. Both take about 1 ms, so a p95 would show other load on the machine.
   * @param name of the other read in the report
   */
  reads: (figure: string, read: Read<Subject>, name: string, other: Read<Subject>) => Promise<void>;
}

/**
 * @param name of the databases
 * @param load fills an empty, migrated database
 * @param measure gets a function that compares one read at both sizes
 */
export async function onTwoSizes<Subject>(
  name: string,
  load: (db: Database, url: string, records: number) => Promise<Subject>,
  measure: (compare: Comparisons<Subject>) => Promise<void>,
): Promise<void> {
  await onFreshStack(['postgres'], async ({ env }) => {
    const config = readConfig(env).database;
    const scenes: Scene<Subject>[] = [];
    try {
      for (const [size, records] of Object.entries(sizes))
        scenes.push(await setScene(config, `${name}_${size}`, records, load));
      const [short, long] = scenes;
      if (!short || !long) throw new Error('Two sizes are compared');
      await measure({
        sizes: (figure, read) =>
          compare(
            `${figure} p95 ms`,
            p95Of,
            { scene: long, read },
            { scene: short, read, name: `at ${short.records}` },
          ),
        reads: (figure, read, label, other) =>
          compare(`${figure} median ms`, median, { scene: long, read }, { scene: long, read: other, name: label }),
      });
    } finally {
      for (const { db } of scenes) await db.source.destroy();
    }
  });
}

async function setScene<Subject>(
  config: Config['database'],
  name: string,
  records: number,
  load: (db: Database, url: string, records: number) => Promise<Subject>,
): Promise<Scene<Subject>> {
  const administration = await createDataSource(config, 'club-bench').initialize();
  await administration.query(`CREATE DATABASE ${name}`);
  await administration.destroy();
  const url = new URL(config.url.reveal());
  url.pathname = `/${name}`;
  const source = await createDataSource({ ...config, url: new Secret(url.href) }, 'club-bench').initialize();
  await migrate(source);
  const db = new Database(source, { notify() {} });
  const started = performance.now();
  const subject = await load(db, url.href, records);
  progress(`${records} of each loaded in ${Math.round((performance.now() - started) / 1_000)} s`);
  return { db, subject, records };
}

interface Compared<Subject> {
  scene: Scene<Subject>;
  read: Read<Subject>;
}

/** Measures both alternately, so that other load on the machine affects both. */
async function compare<Subject>(
  figure: string,
  figureOf: (times: readonly number[]) => number,
  measured: Compared<Subject>,
  baseline: Compared<Subject> & { name: string },
): Promise<void> {
  const took = [baseline, measured].map(({ scene, read }) => ({ scene, read, times: [] as number[] }));
  for (let nth = -warmUps; nth < samples; nth++) {
    for (const { scene, read, times } of took) {
      const started = performance.now();
      await read(scene.db, scene.subject, scene.records);
      if (nth >= 0) times.push(performance.now() - started);
    }
  }
  const [before = Number.NaN, value = Number.NaN] = took.map(({ times }) => figureOf(times));
  report(figure, { value, [baseline.name]: before, ratio: value / before });
  const { scene, read } = measured;
  const indexes = await indexesOf(scene.db.source, (tx) => read(tx, scene.subject, scene.records));
  process.stdout.write(`    ${indexes.join(', ')}\n`);
}

/** The median of the phases' p95, so that one phase with other load does not determine the result. */
function p95Of(took: readonly number[]): number {
  const length = samples / spells;
  return median(
    Array.from({ length: spells }, (_, spell) => quantile(took.slice(spell * length, (spell + 1) * length), 0.95)),
  );
}
