/** `npm run bench -- reads`: the lists at 1,000 and at 1,000,000 records of one club: p95, its growth, and the index that serves each. */
import { readConfig, type Config } from '../config.ts';
import { Secret } from '../platform/core/secret.ts';
import { listEnrollments } from '../domain/access/enrollments/listing.ts';
import { Database, type Queries } from '../platform/infra/postgres/database.ts';
import { listStudents } from '../domain/identity/students.ts';
import { listCertificates } from '../domain/learning/certificates/reads.ts';
import type { ObjectStore } from '../platform/infra/object-store.ts';
import { createDataSource } from '../entities/data-source.ts';
import { migrate } from '../entities/migrate.ts';
import { loadClub, nthStudent, seedClub, type Club } from './reads-load.ts';
import { indexesOf } from './reads-plans.ts';
import { median, onFreshStack, progress, quantile, report } from './support.ts';

export const readMeasurements = ['students', 'enrollments', 'certificates'] as const;

const sizes = { short: 1_000, long: 1_000_000 };
const samples = 200;
/** Parts of a measurement, one after another. */
const spells = 5;
const warmUps = 20;

type Read = (tx: Queries, club: Club, records: number) => Promise<{ total: number }>;

/** Nobody of these students has a picture, so no address is signed. */
const noStore = {} as ObjectStore;
const first = { page: 1, page_size: 20 };
const students =
  (filter: object): Read =>
  (tx, { clubId }) =>
    listStudents(tx, noStore, clubId, { ...first, ...filter });
const enrollments =
  (filter: (club: Club, records: number) => object): Read =>
  (tx, club, records) =>
    listEnrollments(tx, club.clubId, { ...first, ...filter(club, records) }, new Date());
const certificates =
  (filter: (club: Club, records: number) => object): Read =>
  (tx, club, records) =>
    listCertificates(tx, club.clubId, { ...first, ...filter(club, records) });

/** Somebody in the middle of the list. */
const someone = (records: number) => nthStudent(Math.floor(records / 3));

/** What is searched: a name that one has, one that some hundreds of a million share, one of 14, what everybody has, and what makes no trigram. */
const searches = {
  'of one': 'quetzal',
  'of some': 'Ada Lovelaceski',
  'of many': 'maria',
  'of everybody': 'example',
  short: 'zq',
  symbols: '%',
};

/** A list each: the first page, whole and by each filter. */
const reads: Readonly<Record<(typeof readMeasurements)[number], Readonly<Record<string, Read>>>> = {
  students: {
    all: students({}),
    verified: students({ verified: true }),
    unverified: students({ verified: false }),
    ...Object.fromEntries(Object.entries(searches).map(([what, q]) => [`search ${what}`, students({ q })])),
    'search, unverified': students({ q: searches['of some'], verified: false }),
  },
  enrollments: {
    all: enrollments(() => ({})),
    revoked: enrollments(() => ({ revoked: true })),
    'not revoked': enrollments(() => ({ revoked: false })),
    'of a delivery': enrollments(({ deliveryIds }) => ({ delivery_id: deliveryIds[3] })),
    'of a delivery, revoked': enrollments(({ deliveryIds }) => ({ delivery_id: deliveryIds[3], revoked: true })),
    'of a student': enrollments((_, records) => ({ student_id: someone(records) })),
  },
  certificates: {
    all: certificates(() => ({})),
    revoked: certificates(() => ({ revoked: true })),
    'not revoked': certificates(() => ({ revoked: false })),
    'of a course': certificates(({ courseIds }) => ({ course_id: courseIds[3] })),
    'of a course, revoked': certificates(({ courseIds }) => ({ course_id: courseIds[3], revoked: true })),
    'of a student': certificates((_, records) => ({ student_id: someone(records) })),
    ...Object.fromEntries(Object.entries(searches).map(([what, q]) => [`search ${what}`, certificates(() => ({ q }))])),
    'search, of a course': certificates(({ courseIds }) => ({ q: searches['of some'], course_id: courseIds[3] })),
  },
};

/** A database of its own with one club of a size. */
interface Scene {
  db: Database;
  club: Club;
  records: number;
}

/** @param wanted the lists that are measured */
export async function benchReads(wanted: readonly string[]): Promise<void> {
  await onFreshStack(['postgres'], async ({ env }) => {
    const config = readConfig(env).database;
    const scenes: Scene[] = [];
    try {
      for (const [name, records] of Object.entries(sizes)) scenes.push(await setScene(config, name, records));
      const [short, long] = scenes;
      if (!short || !long) throw new Error('Two sizes are compared');
      for (const list of readMeasurements.filter((each) => wanted.includes(each)))
        for (const [what, read] of Object.entries(reads[list])) await compare(`${list}, ${what}`, read, short, long);
    } finally {
      for (const { db } of scenes) await db.source.destroy();
    }
  });
}

async function setScene(config: Config['database'], name: string, records: number): Promise<Scene> {
  const administration = await createDataSource(config, 'club-bench').initialize();
  await administration.query(`CREATE DATABASE reads_${name}`);
  await administration.destroy();
  const url = new URL(config.url.reveal());
  url.pathname = `/reads_${name}`;
  const source = await createDataSource({ ...config, url: new Secret(url.href) }, 'club-bench').initialize();
  await migrate(source);
  const db = new Database(source, { notify() {} });
  const club = await seedClub(db);
  const started = performance.now();
  await loadClub(db, url.href, club, records);
  progress(`${records} of each loaded in ${Math.round((performance.now() - started) / 1_000)} s`);
  return { db, club, records };
}

/** Both sizes take turns, so that whatever else the machine does falls on both. */
async function compare(figure: string, read: Read, short: Scene, long: Scene): Promise<void> {
  const took = new Map<Scene, number[]>([short, long].map((scene) => [scene, []]));
  for (let nth = -warmUps; nth < samples; nth++) {
    for (const [scene, times] of took) {
      const started = performance.now();
      await read(scene.db, scene.club, scene.records);
      if (nth >= 0) times.push(performance.now() - started);
    }
  }
  const [before = Number.NaN, value = Number.NaN] = [...took.values()].map(p95Of);
  report(`${figure} p95 ms`, { value, [`at ${short.records}`]: before, ratio: value / before });
  const indexes = await indexesOf(long.db.source, (tx) => read(tx, long.club, long.records));
  process.stdout.write(`    ${indexes.join(', ')}\n`);
}

/** The median of the p95 of each spell, so that one in which the machine was busy with something else does not decide. */
function p95Of(took: readonly number[]): number {
  const length = samples / spells;
  return median(
    Array.from({ length: spells }, (_, spell) => quantile(took.slice(spell * length, (spell + 1) * length), 0.95)),
  );
}
