/** Tests the closing of a club: the first commit, the answers of the contexts, and what arrives afterwards (ERS-5 to ERS-9). */
import { expect } from 'chai';
import { clubClosers, contextsInLockOrder } from '../../../domain/contexts.ts';
import { createOrganization } from '../../../domain/clubs/organizations.ts';
import { updateClub } from '../../../domain/clubs/settings.ts';
import { closeClub } from '../../../domain/erasures/closing.ts';
import { releaseSlugs, removeOldErasures } from '../../../domain/erasures/retention.ts';
import { removeStudent } from '../../../domain/students/students.ts';
import type { CloseClub } from '../../../domain/questions.ts';
import type { Priority } from '../../../entities/facts/values.ts';
import type { ClaimedFact } from '../../../platform/engine/facts.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { Transaction } from '../../../platform/infra/postgres/database.ts';
import { buildFurnishedClub, type FurnishedClub } from '../../toolkit/builders/furnished-club.ts';
import { buildAdministrator, buildClub, buildStudent } from '../../toolkit/builders/clubs.ts';
import { buildSalesConnection } from '../../toolkit/builders/sales.ts';
import { takeNotice } from '../../toolkit/drive/sales.ts';
import { testDatabase, testDeps } from '../../toolkit/stack/database.ts';

const day = 86_400_000;
const query = async <Row = object>(text: string, ...values: unknown[]): Promise<Row[]> =>
  (await testDatabase()).query<Row[]>(text, values);

async function step(clubId: Id, closers: readonly CloseClub[] = clubClosers): Promise<boolean> {
  const { more } = await closeClub({ ...(await testDeps()), closers }, clubId, new Date());
  return more;
}

/** @returns the number of calls */
async function close(clubId: Id): Promise<number> {
  for (let calls = 1; calls < 100; calls++) if (!(await step(clubId))) return calls;
  throw new Error('The club is not closed after 100 calls.');
}

const erasingAt = async (clubId: Id) =>
  (await query<{ erasing_at: Date | null }>(`SELECT erasing_at FROM clubs WHERE id = $1`, clubId))[0]?.erasing_at;

interface Case {
  /** Puts work of the context under way. Statements with the club as $1. */
  begin: readonly string[];
  /** A statement with the club as $1, and its rows after the club is closed. */
  after: readonly [text: string, rows: readonly object[]];
}

const cases: Readonly<Record<string, Case>> = {
  'disables each endpoint and cancels its queue': {
    begin: [
      `UPDATE webhook_deliveries SET status = 'pending', completed_at = NULL WHERE club_id = $1`,
      `INSERT INTO webhook_deliveries (id, club_id, endpoint_id, event_id, event_type, student_id, status, next_attempt_at, created_at)
       SELECT gen_random_uuid(), club_id, endpoint_id, gen_random_uuid(), event_type, student_id, 'pending', now(), now()
         FROM webhook_deliveries, generate_series(1, 2500) WHERE club_id = $1`,
    ],
    after: [
      `SELECT endpoint.status, delivery.status AS queue, count(*)::int AS deliveries FROM webhook_endpoints endpoint
         JOIN webhook_deliveries delivery ON delivery.endpoint_id = endpoint.id WHERE endpoint.club_id = $1 GROUP BY 1, 2`,
      [{ status: 'disabled', queue: 'canceled', deliveries: 2_501 }],
    ],
  },
  'cancels each campaign and skips its mails': {
    begin: [
      `UPDATE campaigns SET status = 'sending', scheduled_at = now(), looks_at = now(), frozen_at = now() WHERE club_id = $1`,
      `INSERT INTO mails (id, club_id, campaign_id, student_id, student_name, student_email, next_attempt_at, created_at)
       SELECT gen_random_uuid(), $1, campaign.id, student.id, 'S', 's@example.com', now(), now()
         FROM campaigns campaign, students student WHERE campaign.club_id = $1 AND student.club_id = $1`,
    ],
    after: [
      `SELECT DISTINCT campaign.status, mail.status AS mails, mail.skip_reason FROM campaigns campaign
         JOIN mails mail ON mail.campaign_id = campaign.id WHERE campaign.club_id = $1`,
      [{ status: 'canceled', mails: 'skipped', skip_reason: 'canceled' }],
    ],
  },
  'archives each automation and ends its runs': {
    begin: [
      `UPDATE automation_runs SET status = 'active', error_code = NULL, ended_at = NULL, looks_at = now() + interval '1 year' WHERE club_id = $1`,
    ],
    after: [
      `SELECT automation.status, run.status AS run, run.exit_reason FROM automations automation
         JOIN automation_runs run ON run.automation_id = automation.id WHERE automation.club_id = $1`,
      [{ status: 'archived', run: 'exited', exit_reason: 'archived' }],
    ],
  },
  'cancels each student import': {
    begin: [],
    after: [`SELECT status FROM student_imports WHERE club_id = $1`, [{ status: 'canceled' }]],
  },
  'cancels each bulk job': {
    begin: [],
    after: [`SELECT status FROM bulk_jobs WHERE club_id = $1`, [{ status: 'canceled' }]],
  },
  'ends the answers that agents generate': {
    begin: [`UPDATE agent_answers SET status = 'generating', completed_at = NULL WHERE club_id = $1`],
    after: [
      `SELECT status, error_code FROM agent_answers WHERE club_id = $1`,
      [{ status: 'failed', error_code: 'conversation_deleted' }],
    ],
  },
  'takes sources out of the queue, and ends the claims of workers': {
    begin: [
      `UPDATE agent_sources SET looks_at = now(), lease_until = now() + interval '1 hour', ocr_due_at = now(), fence = 7 WHERE club_id = $1`,
    ],
    after: [
      `SELECT looks_at, lease_until, ocr_due_at, fence FROM agent_sources WHERE club_id = $1`,
      [{ looks_at: null, lease_until: null, ocr_due_at: null, fence: 8 }],
    ],
  },
  'removes files that are uploaded or processed, and keeps complete files': {
    begin: [
      `INSERT INTO media (id, club_id, purpose, kind, title, provider, status, looks_at, created_at, updated_at)
       SELECT gen_random_uuid(), $1, 'library', 'video', 'under way', 'objstore', status, due, now(), now()
         FROM (VALUES ('uploading', NULL), ('processing', now())) AS file (status, due)`,
      `INSERT INTO media_uploads (id, club_id) SELECT id, club_id FROM media WHERE club_id = $1 AND status = 'uploading'`,
      `INSERT INTO media_moves (id, club_id, visibility, looks_at, created_at)
       SELECT id, club_id, 'public', now(), now() FROM media WHERE club_id = $1 AND status = 'ready' AND purpose = 'library'`,
    ],
    after: [
      `SELECT status, bool_and(removed_at IS NOT NULL) AS removed, bool_and(looks_at IS NULL) AS idle,
              (SELECT count(*)::int FROM media_moves WHERE club_id = $1) AS moves FROM media WHERE club_id = $1 GROUP BY 1 ORDER BY 1`,
      [
        { status: 'processing', removed: true, idle: true, moves: 0 },
        { status: 'ready', removed: false, idle: true, moves: 0 },
        { status: 'uploading', removed: true, idle: true, moves: 0 },
      ],
    ],
  },
  'ends the daily mail and the filling of spaces': {
    begin: [
      `INSERT INTO space_digests (id, club_id, date, takes_until, ends_at, members, looks_at, created_at)
       VALUES ($1::text || '/2026-03-29', $1::uuid, '2026-03-29', now(), now() + interval '1 day', 1, now(), now())`,
      `UPDATE community_spaces SET fill_looks_at = now() WHERE club_id = $1`,
    ],
    after: [
      `SELECT digest.ended_at IS NOT NULL AS ended, digest.looks_at, space.fill_looks_at FROM space_digests digest
         JOIN community_spaces space ON space.club_id = digest.club_id WHERE digest.club_id = $1`,
      [{ ended: true, looks_at: null, fill_looks_at: null }],
    ],
  },
  'ignores sales notices that wait, and ends the leases of workers': {
    begin: [`UPDATE sales_notices SET status = 'pending', processed_at = NULL, fence = 3 WHERE club_id = $1`],
    after: [`SELECT status, fence FROM sales_notices WHERE club_id = $1`, [{ status: 'ignored', fence: 4 }]],
  },
  'gives up purchases without an outcome': {
    begin: [`UPDATE add_ons SET status = 'pending', payment_id = NULL, settled_at = NULL WHERE club_id = $1`],
    after: [`SELECT status, fence FROM add_ons WHERE club_id = $1`, [{ status: 'failed', fence: 1 }]],
  },
  'ends the sessions of the club’s identity provider': {
    begin: [
      `INSERT INTO administrator_sessions (token_hash, administrator_id, provider_id, club_id, created_at, expires_at, opened_by)
       SELECT sha256(provider.id::text::bytea), membership.administrator_id, provider.id, $1::uuid, now(), now() + interval '1 hour', 'provider'
         FROM memberships membership, identity_providers provider
        WHERE membership.club_id = $1 AND membership.role = 'owner' AND provider.club_id = $1`,
    ],
    after: [`SELECT 1 FROM administrator_sessions WHERE club_id = $1`, []],
  },
};

describe('closing a club', () => {
  it('marks the club with the first call, and keeps the time at later calls', async () => {
    const { id } = await buildClub();
    await step(id, []);
    const marked = await erasingAt(id);
    expect(marked).to.be.an.instanceOf(Date);
    await step(id);
    expect(await erasingAt(id)).to.deep.equal(marked);
  });

  for (const [title, { begin, after }] of Object.entries(cases))
    it(title, async () => {
      const [club, other] = [await buildFurnishedClub(), await buildFurnishedClub()];
      for (const { id } of [club, other]) for (const statement of begin) await query(statement, id);
      const untouched = await query(after[0], other.id);
      await close(club.id);
      expect(await query(after[0], club.id)).to.deep.equal(after[1]);
      expect(await query(after[0], other.id)).to.deep.equal(untouched);
    });

  it('ends with one call without more work, if it is repeated', async () => {
    const { id } = await buildFurnishedClub();
    expect(await close(id)).to.be.above(1);
    expect(await close(id)).to.equal(1);
  });

  it('reaches the same state if two processes close the club at the same time', async () => {
    const { id } = await buildFurnishedClub();
    await Promise.all([close(id), close(id)]);
    expect(await close(id)).to.equal(1);
  });

  it('does nothing for a club that does not exist', async () => expect(await close(newId())).to.equal(1));

  describe('afterwards', () => {
    let club: FurnishedClub;
    beforeEach(async () => {
      club = await buildFurnishedClub();
    });

    it('refuses a sales notice like one with an unknown token, and stores nothing', async () => {
      const connection = await buildSalesConnection(club.id);
      await close(club.id);
      const refusal = (tokenOf: string) =>
        takeNotice({ ...connection, token: tokenOf }, { event: 'sale' }).then(
          () => 'taken',
          ({ code, message }: { code: string; message: string }) => `${code}: ${message}`,
        );
      expect(await refusal(connection.token)).to.equal(await refusal('unknown'));
      expect(await query(`SELECT 1 FROM sales_notices WHERE connection_id = $1`, connection.id)).to.deep.equal([]);
    });

    it('passes facts on to no endpoint, no log and no automation', async () => {
      await query(`UPDATE automations SET trigger_kind = 'lesson_completed' WHERE club_id = $1`, club.id);
      await close(club.id);
      const rows = () =>
        Promise.all(
          ['webhook_events', 'webhook_bodies', 'webhook_deliveries', 'automation_runs'].map(
            async (table) => (await query(`SELECT 1 FROM ${table} WHERE club_id = $1`, club.id)).length,
          ),
        );
      const before = await rows();
      const { db } = await testDeps();
      const fact = (priority: Priority): ClaimedFact => ({
        id: newId(),
        clubId: club.id,
        studentId: club.student.id,
        type: 'lesson.completed',
        subjectId: null,
        details: null,
        occurredAt: new Date(),
        priority,
      });
      // One fact alone and several facts together pass different statements.
      for (const facts of [[fact(1)], [fact(1), fact(2)]])
        for (const consume of contextsInLockOrder.flatMap(({ factConsumers }) => factConsumers)) {
          const results = await consume(db, facts, new Date());
          expect(results.map(({ kind }) => kind)).to.deep.equal(facts.map(() => 'consumed'));
        }
      expect(await rows()).to.deep.equal(before);
    });
  });

  describe('and its slug', () => {
    const slugOf = async (id: Id) =>
      (await query<{ slug: string }>(`SELECT slug FROM clubs WHERE id = $1`, id))[0]?.slug;
    const plan = async (clubId: Id) =>
      query(
        `INSERT INTO erasures (id, kind, subject_id, club_id, requested_at, erases_at, status, looks_at) VALUES ($1, 'club', $2, $2, now(), now(), 'closing', now())`,
        newId(),
        clubId,
      );
    /** Closes a club, and deletes its rows as the run does. @returns the slug */
    async function erased(completedAt: Date): Promise<string> {
      const { id } = await buildClub();
      const slug = await slugOf(id);
      await plan(id);
      await close(id);
      await query(`DELETE FROM memberships WHERE club_id = $1`, id);
      await query(`DELETE FROM clubs WHERE id = $1`, id);
      await query(
        `UPDATE erasures SET status = 'completed', completed_at = $2, requested_at = $2, looks_at = NULL WHERE subject_id = $1`,
        id,
        completedAt,
      );
      return slug ?? '';
    }
    const changeTo = async (slug: string) => {
      const { id } = await buildClub();
      return updateClub(await testDeps(), id, { slug }, new Date()).then(
        (club) => club.slug,
        ({ code }: { code: string }) => code,
      );
    };

    it('is kept in the row of the erasure', async () => {
      const { id } = await buildClub();
      await plan(id);
      await close(id);
      expect(await query(`SELECT slug FROM erasures WHERE subject_id = $1`, id)).to.deep.equal([
        { slug: await slugOf(id) },
      ]);
    });

    it('is refused to other clubs like a taken slug', async () => {
      expect(await changeTo(await erased(new Date()))).to.equal('slug_taken');
    });

    it('is not given to a new club with the same name', async () => {
      const slug = await erased(new Date());
      const owner = await buildAdministrator();
      const source = await testDatabase();
      const club = await source.transaction((tx) =>
        createOrganization(new Transaction(tx), owner.id, { name: slug, plan: 'trial' }, new Date()),
      );
      expect(club.slug).to.match(new RegExp(`^${slug}-[0-9a-f]{6}$`));
    });

    it('is free 90 days after the erasure, and not a minute earlier', async () => {
      const { db } = await testDeps();
      const completedAt = new Date(Date.now() - 89 * day);
      const slug = await erased(completedAt);
      await releaseSlugs(db, new Date(completedAt.getTime() + 90 * day - 60_000));
      expect(await changeTo(slug)).to.equal('slug_taken');
      await releaseSlugs(db, new Date(completedAt.getTime() + 90 * day));
      expect(await changeTo(slug)).to.equal(slug);
    });
  });

  it('keeps the row of each erasure for 400 days', async () => {
    const { db } = await testDeps();
    const { id: clubId } = await buildClub();
    const student = await buildStudent(clubId);
    await removeStudent(await testDeps(), clubId, student.id, new Date());
    const completedAt = new Date(Date.now() - 10 * day);
    await query(
      `UPDATE erasures SET status = 'completed', completed_at = $2, requested_at = $2, looks_at = NULL WHERE subject_id = $1`,
      student.id,
      completedAt,
    );
    const rowsLeft = async () => (await query(`SELECT 1 FROM erasures WHERE subject_id = $1`, student.id)).length;
    await removeOldErasures(db, new Date(completedAt.getTime() + 400 * day - 60_000));
    expect(await rowsLeft()).to.equal(1);
    await removeOldErasures(db, new Date(completedAt.getTime() + 400 * day));
    expect(await rowsLeft()).to.equal(0);
  });

  it('never deletes the row of an erasure that is not complete', async () => {
    const { db } = await testDeps();
    const { id } = await buildClub();
    await query(
      `INSERT INTO erasures (id, kind, subject_id, club_id, requested_at, erases_at, status, looks_at) VALUES ($1, 'club', $2, $2, '2020-01-01', '2020-01-15', 'planned', now())`,
      newId(),
      id,
    );
    await removeOldErasures(db, new Date());
    expect(await query(`SELECT status FROM erasures WHERE subject_id = $1`, id)).to.deep.equal([{ status: 'planned' }]);
  });
});
