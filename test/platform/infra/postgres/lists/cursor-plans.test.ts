/** Tests that an index of each long list finds the rows after a cursor, so that a deep page reads no row before it (CUR-4). */
import { expect } from 'chai';
import type { EntityManager } from 'typeorm';
import { listEnrollments, listOwnEnrollments } from '../../../../../domain/access/enrollments/listing.ts';
import { listSubmissions } from '../../../../../domain/assignments/submissions.ts';
import { listRuns } from '../../../../../domain/automations/runs.ts';
import { listDeliveries as listRecipients } from '../../../../../domain/campaigns/recipients.ts';
import { listComments } from '../../../../../domain/community/comments.ts';
import { listPosts } from '../../../../../domain/community/posts.ts';
import { listStudents } from '../../../../../domain/identity/students.ts';
import { listCertificates } from '../../../../../domain/learning/certificates/reads.ts';
import { listSuppressions } from '../../../../../domain/mail/suppressions/suppressions.ts';
import { listMedia } from '../../../../../domain/media/library/library.ts';
import { listSessions } from '../../../../../domain/mentorships/sessions.ts';
import { listNotices } from '../../../../../domain/sales/notices/notices.ts';
import { listPurchases } from '../../../../../domain/sales/purchases/listing.ts';
import { listDeliveries } from '../../../../../domain/webhooks/deliveries/deliveries.ts';
import { mediaUses } from '../../../../../domain/contexts.ts';
import { Queries } from '../../../../../platform/infra/postgres/database.ts';
import { positionIn } from '../../../../../platform/infra/postgres/lists/cursor.ts';
import type { Page, PageRequest } from '../../../../../platform/infra/postgres/lists/page.ts';
import { buildFullLists } from '../../../../toolkit/builders/full-lists.ts';
import type { FurnishedClub } from '../../../../toolkit/builders/furnished-club.ts';
import { testDatabase, testDeps } from '../../../../toolkit/stack/database.ts';

type List = (db: Queries, request: PageRequest) => Promise<Page<unknown>>;

/** Finds a condition inside the condition of an index. */
const inIndex = (condition: string) => new RegExp(`"Index Cond": "[^"]*${condition}`);
/** The keys of most orders have one direction, and are compared as a row. */
const keysAsRow = String.raw`ROW\([^"]*\) [<>] ROW\(`;
/** Other orders have one key, or a leading key that limits the range. */
const others: Readonly<Record<string, string>> = {
  'recipients of a campaign': String.raw`\(seq > `,
  suppressions: String.raw`\(created_at <= `,
};

describe('the page after a cursor is read from an index', () => {
  let club: FurnishedClub;
  before(async function () {
    this.timeout(60_000);
    club = await buildFullLists();
  });

  /** Reads the first page of one row and the page after it. @returns the plans of the statements of the second page */
  const plansOf = async (list: List): Promise<string> => {
    const { vault } = await testDeps();
    const at = (cursor: string | undefined): PageRequest => ({
      page: 1,
      page_size: 1,
      cursor: positionIn(vault, { list: 'list', clubId: club.id, filters: {} }, cursor),
    });
    const source = await testDatabase();
    const { next } = await list(new Queries(source.manager), at(undefined));
    expect(next, 'the cursor of the second page').to.be.a('string');
    const plans: unknown[] = [];
    await source.transaction(async (tx) => {
      // The tables are small, so Postgres would read them whole.
      await tx.query('SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off; SET LOCAL enable_bitmapscan = off');
      const explaining = Object.create(tx, {
        query: {
          value: async (statement: string, parameters?: unknown[]): Promise<unknown> => {
            plans.push(await tx.query(`EXPLAIN (FORMAT JSON) ${statement}`, parameters));
            return tx.query(statement, parameters);
          },
        },
      }) as EntityManager;
      await list(new Queries(explaining), at(next));
    });
    return JSON.stringify(plans).replaceAll('":"', '": "');
  };

  const now = new Date();
  const lists: Readonly<Record<string, () => Promise<List>>> = {
    students: async () => {
      const { storage } = await testDeps();
      return (db, request) => listStudents(db, storage, club.id, request);
    },
    enrollments: async () => (db, request) => listEnrollments(db, club.id, request, now),
    'enrollments of a student': async () => (db, request) => listOwnEnrollments(db, club.student.id, request, now),
    certificates: async () => (db, request) => listCertificates(db, club.id, request),
    'files of the library': async () => {
      const { storage } = await testDeps();
      const reader = { clubId: club.id, administratorId: club.owner.id };
      return (db, request) => listMedia({ db, storage, mediaUses }, reader, { ...request, types: ['file', 'pdf'] });
    },
    'deliveries of webhooks': async () => (db, request) =>
      listDeliveries(db, club.id, club.records.endpoint, request, now),
    'deliveries of webhooks of a type': async () => (db, request) =>
      listDeliveries(db, club.id, club.records.endpoint, { ...request, event_type: 'student.updated' }, now),
    'recipients of a campaign': async () => (db, request) =>
      listRecipients(db, club.id, club.records.campaign, request),
    suppressions: async () => {
      const { vault } = await testDeps();
      return (db, request) => listSuppressions({ db, vault }, club.id, request);
    },
    'runs of an automation': async () => (db, request) => listRuns(db, club.id, club.records.automation, request),
    purchases: async () => (db, request) => listPurchases(db, club.id, request),
    'notices of sales': async () => (db, request) => listNotices(db, club.id, request),
    submissions: async () => (db, request) => listSubmissions(db, club.id, request),
    sessions: async () => (db, request) => listSessions(db, club.id, request, now),
    posts: async () => {
      const { storage } = await testDeps();
      const voice = { kind: 'admin', clubId: club.id, id: club.owner.id } as const;
      return (db, request) => listPosts(db, storage, voice, club.records.space, request, now);
    },
    'comments of a post': async () => {
      const { storage } = await testDeps();
      const voice = { kind: 'admin', clubId: club.id, id: club.owner.id } as const;
      return (db, request) => listComments(db, storage, voice, club.records.postPublicId, request, now);
    },
  };
  for (const [title, list] of Object.entries(lists))
    it(`of ${title}`, async () => {
      expect(await plansOf(await list())).to.match(inIndex(others[title] ?? keysAsRow));
    });
});
