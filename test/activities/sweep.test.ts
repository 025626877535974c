import { expect } from 'chai';
import { sweepActivities } from '../../activities/sweep.ts';
import { inTransaction } from '../../domain/core/database.ts';
import { newId } from '../../domain/core/ids.ts';
import { requestMail } from '../../domain/mail/requests.ts';
import { testPlatform } from '../support/database.ts';
import { alter, buildDelivery, buildSubscription, wakeDelivery, type TestDelivery } from '../support/deliveries.ts';
import { buildClub, buildStudent } from '../support/factories.ts';
import { strikeOffLeftovers } from '../support/worker.ts';

const second = 1_000;
const minute = 60 * second;
const day = 24 * 60 * minute;

describe('a round of the sweeper', () => {
  const now = Date.now();
  const counted: number[] = [];
  let activities: ReturnType<typeof sweepActivities>;
  before(async () => {
    activities = sweepActivities((await testPlatform()).database, (count) => counted.push(count));
  });
  beforeEach(async () => {
    await strikeOffLeftovers();
    counted.splice(0);
  });

  const woken = async () => {
    const { source } = (await testPlatform()).database;
    return source.query<unknown[]>(
      `SELECT workflow_id AS "workflowId", workflow_type AS type, subject_id AS "subjectId", club_id AS "clubId", attributes FROM wakes`,
    );
  };

  describe('rescues what is overdue by two minutes without a living lease', () => {
    let delivery: TestDelivery;
    beforeEach(async () => {
      delivery = await buildDelivery(await buildSubscription('https://hooks.example.com'), new Date(now - 10 * minute));
    });
    const dueAt = (at: number) => alter('webhook_deliveries', delivery.id, { next_attempt_at: new Date(at) });

    it('a delivery: its workflow is woken, findable as before, and counted', async () => {
      await dueAt(now - 2 * minute - 1);
      expect(await activities.rescueOverdue(now)).to.equal(1);
      expect(await woken()).to.deep.equal([
        {
          workflowId: `webhook-delivery/${delivery.id}`,
          type: 'webhookDelivery',
          subjectId: delivery.id,
          clubId: delivery.clubId,
          attributes: {
            ClubId: delivery.clubId,
            EndpointId: delivery.endpoint.id,
            EventType: 'student.updated',
          },
        },
      ]);
      expect(counted).to.deep.equal([1]);
    });

    it('a lease that ran out does not protect it', async () => {
      await alter('webhook_deliveries', delivery.id, { lease_until: new Date(now - minute) });
      expect(await activities.rescueOverdue(now)).to.equal(1);
    });

    const spared: { what: string; set: () => Promise<unknown> }[] = [
      { what: 'overdue by two minutes and no more', set: () => dueAt(now - 2 * minute) },
      { what: 'not yet due', set: () => dueAt(now + minute) },
      {
        what: 'attempted at this moment',
        set: () => alter('webhook_deliveries', delivery.id, { lease_until: new Date(Date.now() + minute) }),
      },
      { what: 'ended', set: () => alter('webhook_deliveries', delivery.id, { status: 'succeeded' }) },
      {
        what: 'of a paused endpoint',
        set: () => alter('webhook_endpoints', delivery.endpoint.id, { status: 'paused' }),
      },
      { what: 'about to be woken anyway', set: () => wakeDelivery(delivery) },
    ];
    for (const { what, set } of spared) {
      it(`not what is ${what}`, async () => {
        await set();
        expect(await activities.rescueOverdue(now)).to.equal(0);
        expect(counted).to.deep.equal([0]);
      });
    }

    it('a mail, with its club and without', async () => {
      const { database, vault } = await testPlatform();
      const { id: clubId, owner } = await buildClub();
      const student = await buildStudent(clubId, { verified: false });
      const requests = [
        {
          template: 'student_verify_email',
          clubId,
          recipient: { studentId: student.id },
          email: 'somebody@example.com',
        },
        {
          template: 'administrator_verify_email',
          clubId: null,
          recipient: { administratorId: owner.id },
          email: owner.email,
        },
      ] as const;
      await inTransaction(database, async (tx) => {
        for (const request of requests) await requestMail(tx, vault, request, new Date(now - 3 * minute));
        await tx.query(`DELETE FROM wakes`);
        await tx.query(`UPDATE webhook_deliveries SET status = 'canceled' WHERE id = $1`, [delivery.id]);
      });
      expect(await activities.rescueOverdue(now)).to.equal(2);
      const attributes = (await woken()).map((one) => (one as { attributes: unknown }).attributes);
      expect(attributes).to.have.deep.members([{ ClubId: clubId }, {}]);
    });
  });

  describe('removes what has run out', () => {
    it('sessions, tokens and invitations that have expired; no others', async () => {
      const { database } = await testPlatform();
      const { id: clubId, owner } = await buildClub();
      const student = await buildStudent(clubId);
      const insert = async (expiresAt: Date) => {
        const hash = Buffer.from(newId());
        const invitationId = newId();
        await database.source.query(
          `INSERT INTO student_sessions (token_hash, student_id, created_at, expires_at) VALUES ($1, $2, $3, $3)`,
          [hash, student.id, expiresAt],
        );
        await database.source.query(
          `INSERT INTO administrator_sessions (token_hash, administrator_id, created_at, expires_at) VALUES ($1, $2, $3, $3)`,
          [hash, owner.id, expiresAt],
        );
        await database.source.query(
          `INSERT INTO one_time_tokens (id, purpose, token_hash, student_id, created_at, expires_at) VALUES ($1, 'student_verify_email', $2, $3, $4, $4)`,
          [newId(), hash, student.id, expiresAt],
        );
        await database.source.query(
          `INSERT INTO invitations (id, club_id, email, role, invited_at, expires_at) VALUES ($1, $2, $3, 'editor', $4, $4)`,
          [invitationId, clubId, `${invitationId}@example.com`, expiresAt],
        );
        return { hash, invitationId };
      };
      const expired = await insert(new Date(now - 1));
      const living = await insert(new Date(now));
      await activities.removeExpired(now);
      const left = async ({ hash, invitationId }: { hash: Buffer; invitationId: string }) => {
        const [row] = await database.source.query<Record<string, number>[]>(
          `SELECT (SELECT count(*) FROM student_sessions WHERE token_hash = $1)
                + (SELECT count(*) FROM administrator_sessions WHERE token_hash = $1)
                + (SELECT count(*) FROM one_time_tokens WHERE token_hash = $1)
                + (SELECT count(*) FROM invitations WHERE id = $2) AS left`,
          [hash, invitationId],
        );
        return Number(row?.['left']);
      };
      expect(await left(expired)).to.equal(0);
      expect(await left(living)).to.equal(4);
    });

    it('the rows of mails that ended, after 30 days; never one that is still to be sent', async () => {
      const { source } = (await testPlatform()).database;
      const insert = async (status: string, createdAt: Date) => {
        const id = newId();
        await source.query(
          `INSERT INTO transactional_mails (id, template, address_key, status, next_attempt_at, created_at)
           VALUES ($1, 'student_code', '', $2, $3, $3)`,
          [id, status, createdAt],
        );
        return id;
      };
      const old = new Date(now - 30 * day - 1);
      const gone = await Promise.all(['sent', 'failed', 'canceled'].map((status) => insert(status, old)));
      const kept = [await insert('pending', old), await insert('sent', new Date(now - 30 * day + second))];
      await activities.removeExpired(now);
      const rows = await source.query<{ id: string }[]>(`SELECT id FROM transactional_mails WHERE id = ANY($1)`, [
        [...gone, ...kept],
      ]);
      expect(rows.map(({ id }) => id)).to.have.members(kept);
    });
  });
});
