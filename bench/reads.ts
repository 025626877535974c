/**
 * `npm run bench -- reads`: the lists with 1,000 and with 1,000,000 records of one club: p95, growth and index. `depth` compares a page by
 * cursor, 10,000 pages deep, with the first page.
 */
import { listEnrollments } from '../domain/access/enrollments/listing.ts';
import type { Database } from '../platform/infra/postgres/database.ts';
import { listStudents } from '../domain/identity/students.ts';
import { listCertificates } from '../domain/learning/certificates/reads.ts';
import type { ObjectStore } from '../platform/infra/store/object-store.ts';
import { loadClub, nthStudent, seedClub, type Club } from './reads-load.ts';
import { benchDepth } from './reads-depth.ts';
import { onTwoSizes, type Read as ReadOf } from './two-sizes.ts';

export const readMeasurements = ['students', 'enrollments', 'certificates', 'depth'] as const;

const lists = ['students', 'enrollments', 'certificates'] as const;

type Read = ReadOf<Club>;

/** The students have no pictures, so no address is signed. */
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

const someone = (records: number) => nthStudent(Math.floor(records / 3));

/**
 * `quetzal` finds one student, `Ada Lovelaceski` some hundreds of a million, `maria` one in 14, and `example` all. `zq` and `%` have no
 * trigram, so the index cannot help.
 */
const searches = {
  'of one': 'quetzal',
  'of some': 'Ada Lovelaceski',
  'of many': 'maria',
  'of everybody': 'example',
  short: 'zq',
  symbols: '%',
};

/** The first page of one list, without a filter or with one. */
const reads: Readonly<Record<(typeof lists)[number], Readonly<Record<string, Read>>>> = {
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

/** @param selection lists */
export async function benchReads(selection: readonly string[]): Promise<void> {
  await onTwoSizes('reads', load, async (compare) => {
    for (const list of lists.filter((each) => selection.includes(each)))
      for (const [what, read] of Object.entries(reads[list])) await compare.sizes(`${list}, ${what}`, read);
    if (selection.includes('depth')) await benchDepth(compare.reads);
  });
}

async function load(db: Database, url: string, records: number): Promise<Club> {
  const club = await seedClub(db);
  await loadClub(db, url, club, records);
  const { rows } = await listEnrollments(db, club.clubId, first, new Date());
  if (rows.length === 0) throw new Error('The list of enrollments shows none of the loaded rows.');
  return club;
}
