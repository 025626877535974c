/** A page by cursor, 10,000 pages deep in a list of 1,000,000 records, beside the first page (CUR-4). */
import { randomBytes } from 'node:crypto';
import { listEnrollments } from '../domain/access/enrollments/listing.ts';
import { listStudents } from '../domain/identity/students.ts';
import { listCertificates } from '../domain/learning/certificates/reads.ts';
import { Secret } from '../platform/core/secret.ts';
import type { Queries } from '../platform/infra/postgres/database.ts';
import { createVault } from '../platform/infra/keys/vault.ts';
import { positionIn, type ListPosition } from '../platform/infra/postgres/lists/cursor.ts';
import type { Page, PageRequest } from '../platform/infra/postgres/lists/page.ts';
import type { ObjectStore } from '../platform/infra/store/object-store.ts';
import type { Club } from './reads-load.ts';
import type { Comparisons } from './two-sizes.ts';

const pages = 10_000;
const size = 20;
const vault = createVault(new Secret(randomBytes(32)));
/** The students have no pictures, so no address is signed. */
const noStore = {} as ObjectStore;

type List = (tx: Queries, club: Club, request: PageRequest) => Promise<Page<unknown>>;

const lists: Readonly<Record<string, List>> = {
  'students, all': (tx, { clubId }, request) => listStudents(tx, noStore, clubId, request),
  'students, verified': (tx, { clubId }, request) => listStudents(tx, noStore, clubId, { ...request, verified: true }),
  'enrollments, all': (tx, { clubId }, request) => listEnrollments(tx, clubId, request, new Date()),
  'certificates, all': (tx, { clubId }, request) => listCertificates(tx, clubId, request),
};

export async function benchDepth(compare: Comparisons<Club>['reads']): Promise<void> {
  for (const [name, list] of Object.entries(lists)) {
    let deep: Promise<string> | undefined;
    await compare(
      `${name}, ${pages} pages deep`,
      async (tx, club) => {
        deep ??= findCursor(tx, club, list);
        return list(tx, club, { page: 1, page_size: size, cursor: position(club, await deep) });
      },
      'first page',
      (tx, club) => list(tx, club, { page: 1, page_size: size, cursor: position(club, undefined) }),
    );
  }
}

const position = ({ clubId }: Club, cursor: string | undefined): ListPosition =>
  positionIn(vault, { list: 'bench', clubId, filters: {} }, cursor);

/** @returns the cursor of the page with this number, found from the page before */
async function findCursor(tx: Queries, club: Club, list: List): Promise<string> {
  const { next } = await list(tx, club, { page: pages, page_size: size, cursor: position(club, undefined) });
  if (next === undefined) throw new Error('The list has too few pages.');
  return next;
}
