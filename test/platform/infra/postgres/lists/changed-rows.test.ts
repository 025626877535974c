/** Tests the columns whose changes count, and the index that finds the changed rows of large tables (CUR-6, CUR-9). */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import type { EntityManager } from 'typeorm';
import { listEnrollments } from '../../../../../domain/access/enrollments/listing.ts';
import { listSubmissions } from '../../../../../domain/assignments/submissions.ts';
import { mediaUses } from '../../../../../domain/contexts.ts';
import { listStudents } from '../../../../../domain/identity/students.ts';
import { listCertificates } from '../../../../../domain/learning/certificates/reads.ts';
import { listMedia } from '../../../../../domain/media/library/library.ts';
import { listSessions } from '../../../../../domain/mentorships/sessions.ts';
import { listPurchases, listSubscriptions } from '../../../../../domain/sales/purchases/listing.ts';
import { Queries } from '../../../../../platform/infra/postgres/database.ts';
import { positionIn } from '../../../../../platform/infra/postgres/lists/cursor.ts';
import type { Page, PageRequest } from '../../../../../platform/infra/postgres/lists/page.ts';
import type { Id } from '../../../../../platform/core/ids.ts';
import type { FurnishedClub } from '../../../../toolkit/builders/furnished-club.ts';
import { buildFullLists } from '../../../../toolkit/builders/full-lists.ts';
import { testDatabase, testDeps } from '../../../../toolkit/stack/database.ts';

/** The columns of each table that no list shows or that never change. The trigger must compare all other columns. */
const uncounted: Readonly<Record<string, string>> = {
  students: 'club_id created_at email_key id name_folded opened_by points',
  enrollments: 'club_id created_at delivery_id id origin_id student_id superseded_at updated_at',
  certificates: 'club_id code course_id id language student_id student_name_folded',
  assignment_submissions: 'assignment_id club_id id last_number student_id',
  media:
    'address_bytes club_id crc32 created_at erased_at erases_at expiry_looks_at expiry_warned_at fault_count fence file_name_folded held_bytes id lease_until looks_at mail_picture owner_id purpose sha256 title_folded type updated_at upload_expires_at',
  mentorship_sessions:
    'busy_until club_id created_at id looks_at mentor_id mentorship_id sequence student_id updated_at',
  repositories: 'club_id created_at id',
  registration_links: 'club_id created_at folded_code id',
};

async function requestOf(clubId: Id, since: Date): Promise<PageRequest> {
  const { vault } = await testDeps();
  const context = { list: 'list', clubId, filters: { updated_since: since.toISOString() } };
  return { page: 1, page_size: 100, cursor: positionIn(vault, context, undefined, { since, next: '' }) };
}

type List = (db: Queries, clubId: Id, request: PageRequest) => Promise<Page<{ id: string }>>;

interface LargeList {
  list: List;
  /** The columns that make each copied row unique, as an argument list of `jsonb_build_object`. */
  unique?: string;
  /** A unique index that would refuse the copies. */
  without?: string;
}

const sales = `'external_id', number::text`;
const lists: Readonly<Record<string, LargeList>> = {
  students: {
    list: async (db, clubId, request) => listStudents(db, (await testDeps()).storage, clubId, request),
    unique: `'email', number || '@example.com'`,
  },
  enrollments: {
    list: (db, clubId, request) => listEnrollments(db, clubId, request, new Date()),
    unique: `'source', 'purchase', 'origin_id', gen_random_uuid()`,
  },
  certificates: {
    list: listCertificates,
    unique: `'student_id', gen_random_uuid(), 'code', upper(left(md5(number::text), 12))`,
  },
  assignment_submissions: { list: listSubmissions, without: 'assignment_submissions_student_assignment' },
  media: {
    list: async (db, clubId, request) =>
      listMedia({ storage: (await testDeps()).storage, mediaUses, db }, { clubId, administratorId: null }, request),
    unique: `'purpose', 'library', 'owner_id', NULL, 'folder_id', NULL, 'archived', false`,
  },
  mentorship_sessions: {
    list: (db, clubId, request) => listSessions(db, clubId, request, new Date()),
    unique: `'status', 'canceled', 'canceled_at', first.created_at`,
  },
  purchases: { list: listPurchases, unique: sales },
  subscriptions: { list: listSubscriptions, unique: sales },
};

/** A manager that also explains each statement. */
const explaining = (tx: EntityManager, plans: unknown[]): EntityManager =>
  Object.create(tx, {
    query: {
      value: async (statement: string, parameters?: unknown[]): Promise<unknown> => {
        plans.push(await tx.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${statement}`, parameters));
        return tx.query(statement, parameters);
      },
    },
  }) as EntityManager;

describe('the changed rows of a table', function () {
  this.timeout(120_000);
  let club: FurnishedClub;
  before(async () => {
    club = await buildFullLists();
  });

  for (const [table, names] of Object.entries(uncounted))
    it(`count by the columns that the list shows: ${table}`, async () => {
      const source = await testDatabase();
      const columns = await source.query<{ name: string; counted: boolean }[]>(
        `SELECT attname AS name, pg_get_triggerdef(trigger.oid) ~ ('new\\.' || attname || '\\M') AS counted
           FROM pg_attribute JOIN pg_trigger trigger ON trigger.tgrelid = attrelid AND tgname = $1 || '_changed'
          WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped AND attname <> 'changed_at' ORDER BY attname`,
        [table],
      );
      expect(columns.some(({ counted }) => counted)).to.equal(true);
      const others = columns.filter(({ counted }) => !counted).map(({ name }) => name);
      expect(others.join(' ')).to.equal(names);
    });

  it('do not include a student with new points, but a student with a first password', async () => {
    const source = await testDatabase();
    const timeAfter = async (change: string) => {
      const [row] = await source.query<{ time: string }[]>(
        `WITH changed AS (UPDATE students SET ${change} WHERE id = $1 RETURNING changed_at) SELECT changed_at::text AS time FROM changed`,
        [club.student.id],
      );
      return row?.time;
    };
    const before = await timeAfter(`password_hash = 'a'`);
    expect(await timeAfter(`points = points + 1, password_hash = 'b', verified_at = now()`)).to.equal(before);
    expect(await timeAfter('password_hash = NULL')).not.to.equal(before);
  });

  it('contain the changed rows among the rows that a search finds, and count them', async () => {
    const { db, storage } = await testDeps();
    const source = await testDatabase();
    const [{ now }] = await source.query<[{ now: Date }]>('SELECT clock_timestamp() AS now');
    await source.query(`UPDATE students SET name = 'Sought ' || id WHERE club_id = $1`, [club.id]);
    const [{ later }] = await source.query<[{ later: Date }]>('SELECT clock_timestamp() AS later');
    await sleep(5); // a Date has only milliseconds
    await source.query(`UPDATE students SET name = name || '.' WHERE id = $1`, [club.student.id]);
    const search = async (since: Date) =>
      listStudents(db, storage, club.id, { ...(await requestOf(club.id, since)), q: 'sought', page_size: 1 });
    expect((await search(now)).total).to.be.above(5);
    const { rows, total } = await search(new Date(later.getTime() + 1));
    expect([rows.map(({ id }) => id), total]).to.deep.equal([[club.student.id], 1]);
  });

  for (const [table, { list, unique = `'id', gen_random_uuid()`, without }] of Object.entries(lists))
    it(`are read from the index of changes: ${table}`, async () => {
      const plans: unknown[] = [];
      const source = await testDatabase();
      await source
        .transaction(async (tx) => {
          await tx.query('SET LOCAL session_replication_role = replica; SET LOCAL enable_seqscan = off');
          if (without !== undefined) await tx.query(`DROP INDEX ${without}`);
          const columns = await tx.query<{ name: string }[]>(
            `SELECT quote_ident(column_name) AS name FROM information_schema.columns
              WHERE table_schema = 'public' AND table_name = $1 AND is_generated = 'NEVER'`,
            [table],
          );
          const names = columns.map(({ name }) => name).join(', ');
          const time = columns.some(({ name }) => name === 'created_at')
            ? 'created_at'
            : table === 'certificates'
              ? 'issued_at'
              : 'submitted_at';
          await tx.query(
            `INSERT INTO ${table} (${names}) SELECT ${names} FROM (SELECT made.* FROM (SELECT to_jsonb(original) AS copied, original.${time} AS created_at
               FROM ${table} original WHERE club_id = $1 LIMIT 1) AS first,
             generate_series(1, 20000) AS number, jsonb_populate_record(NULL::${table}, copied || jsonb_build_object('id', gen_random_uuid(), ${unique},
             '${time}', first.created_at - number * interval '1 second',
             'changed_at', timestamptz '2020-01-01Z' + number * interval '1 second')) AS made) AS copies`,
            [club.id],
          );
          await tx.query(
            `UPDATE ${table} SET changed_at = '2019-01-01' WHERE club_id = $1 AND changed_at > '2021-01-01'`,
            [club.id],
          );
          await tx.query(`ANALYZE ${table}`);
          // The oldest rows of the order changed last.
          const since = new Date(Date.parse('2020-01-01') + 19_950_000);
          const { rows, total } = await list(
            new Queries(explaining(tx, plans)),
            club.id,
            await requestOf(club.id, since),
          );
          expect([rows.length, total]).to.deep.equal([51, 51]);
          throw new Error('rolled back');
        })
        .catch((error: unknown) => expect(String(error)).to.contain('rolled back'));
      const text = JSON.stringify(plans).replaceAll('":', '": ');
      expect(text).to.contain(`${table}_changed`);
      const read = [...text.matchAll(/"Actual Rows": ([\d.]+)/g)].map(([, count]) => Number(count));
      expect(Math.max(...read), text).to.be.below(200);
    });
});
