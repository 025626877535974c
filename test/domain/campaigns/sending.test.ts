import { expect } from 'chai';
import { addSuppression } from '../../../domain/mail/suppressions/suppressions.ts';
import { setSender } from '../../../domain/mail/sending/sender.ts';
import { listDeliveries, readStatistics } from '../../../domain/campaigns/recipients.ts';
import { readCampaign } from '../../../domain/campaigns/records.ts';
import {
  cancelCampaign,
  pauseCampaign,
  resumeCampaign,
  retryCampaign,
  scheduleCampaign,
  unscheduleCampaign,
} from '../../../domain/campaigns/states.ts';
import {
  listTestMails,
  requestTestMail,
  sendTestMail,
  type TestMailDeps,
} from '../../../domain/campaigns/drafts/test-mails.ts';
import { stepCampaign, type CampaignStep } from '../../../domain/campaigns/step.ts';
import { removeStudent, updateStudent } from '../../../domain/students/students.ts';
import { Mail } from '../../../entities/mail/mail.ts';
import { Student } from '../../../entities/identity/student.ts';
import type { HandedMessage, HandOver } from '../../../platform/infra/smtp/smtp-hand-over.ts';
import { buildClub, buildStudent, type TestClub, type TestStudent } from '../../toolkit/builders/clubs.ts';
import { alter } from '../../toolkit/drive/alter.ts';
import { testDeps } from '../../toolkit/stack/database.ts';
import { testObjectStore } from '../../toolkit/stack/storage.ts';
import { buildCampaign } from '../../toolkit/builders/campaigns.ts';
import { sendingDeps } from '../../toolkit/drive/campaigns.ts';
import { previewCampaign } from '../../../domain/campaigns/drafts/preview.ts';
import { createCampaign, updateCampaign } from '../../../domain/campaigns/drafts/drafts.ts';
import { Queries } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import type { DomainError } from '../../../platform/core/errors.ts';
import { setMailDomain } from '../../../domain/mail/domains/domains.ts';
import { MailDomain } from '../../../entities/mail/mail-domain.ts';
import { buildPlan } from '../../toolkit/builders/billing.ts';
import { MediaUse } from '../../../entities/media/media-use.ts';
import { Media } from '../../../entities/media/media.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { Readable } from 'node:stream';
import type { Pool, QueryConfig, QueryResult } from 'pg';
import sharp from 'sharp';

const start = new Date('2026-03-02T12:00:00Z');
const minute = 60_000;
const later = (ms: number) => new Date(start.getTime() + ms);

describe('a campaign', () => {
  let deps: Awaited<ReturnType<typeof testDeps>>;
  let club: TestClub;
  let campaignId: Id;
  let messages: HandedMessage[];
  /** Accepts each mail unless a test changes it. */
  let answer: (message: HandedMessage) => Promise<HandOver> | HandOver;
  let sending: TestMailDeps;

  before(async () => {
    deps = await testDeps();
  });
  beforeEach(async () => {
    messages = [];
    answer = () => ({ kind: 'accepted', reply: '250 ok' });
    sending = await sendingDeps({
      connections: 3,
      onConnection: (work) => work(),
      handOver: async (message) => {
        messages.push(message);
        return answer(message);
      },
    });
    ({ club, campaignId } = await buildCampaign(start));
  });

  const students = async (count: number) => {
    const newStudents: TestStudent[] = [];
    for (let number = 0; number < count; number++)
      newStudents.push(await buildStudent(club.id, { name: `Ada ${number}`, createdAt: later(number - 1_000_000) }));
    return newStudents;
  };
  const step = (at = start) => stepCampaign(sending, campaignId, at.getTime());
  const schedule = (at?: string) => scheduleCampaign(deps, club.id, campaignId, at, start);
  /** Runs steps until the campaign waits for a time or has ended. */
  const run = async (at = start): Promise<CampaignStep> => {
    for (let steps = 0; steps < 50; steps++) {
      const next = await step(at);
      if (next.done || next.at !== undefined) return next;
    }
    throw new Error('The campaign did not wait or end within the allowed number of steps');
  };
  const rowsBy = async () => {
    const { rows } = await listDeliveries(deps.db, club.id, campaignId, { page: 1, page_size: 100 });
    return new Map(rows.map((row) => [row.student_id, row]));
  };
  const rowOf = async ({ id }: { id: Id }) => {
    const row = (await rowsBy()).get(id);
    if (!row) throw new Error('The campaign has no such recipient');
    return row;
  };
  const recipients = () => messages.map(({ to }) => to).toSorted();

  it('mails each confirmed student once, in the order of the fixed recipients, and ends', async () => {
    const allStudents = await students(5);
    const pending = await buildStudent(club.id, { verified: false });
    await deps.db.source.query(`UPDATE students SET opened_by = 'sign_up' WHERE id = $1`, [pending.id]);
    await buildStudent((await buildClub()).id);
    await schedule();
    expect(await run()).to.deep.equal({ done: true, outcome: 'sent' });
    expect(recipients()).to.deep.equal(allStudents.map(({ email }) => email).toSorted());
    const { rows, total } = await listDeliveries(deps.db, club.id, campaignId, { page: 1, page_size: 100 });
    expect(total).to.equal(5);
    expect(rows.map(({ student_id: id, status, sent_at: at }) => ({ id, status, at }))).to.deep.equal(
      allStudents.map(({ id }) => ({ id, status: 'sent', at: start.toISOString() })),
    );
    expect(await readStatistics(deps.db, club.id, campaignId)).to.include({
      recipients: 5,
      sent: 5,
      pending: 0,
      failed: 0,
      skipped: 0,
    });
    expect(await readCampaign(deps.db, club.id, campaignId)).to.include({
      status: 'sent',
      recipients: 5,
      ended_at: start.toISOString(),
    });
  });

  it('has headers for sender, list and unsubscription, and a personalized text', async () => {
    const [ada] = await students(1);
    await schedule();
    await run();
    const [message] = messages;
    expect(message).to.deep.include({
      from: { name: 'Knots & Co', address: 'news@platform.example' },
      to: ada?.email,
      replyTo: 'crew@example.com',
      subject: 'Hi Ada',
    });
    expect(message?.headers['List-Unsubscribe-Post']).to.equal('List-Unsubscribe=One-Click');
    expect(message?.headers['List-Unsubscribe']).to.match(
      new RegExp(`^<https://api\\.example/v1/clubs/${club.id}/classroom/mail/unsubscribe/[\\w-]+>$`),
    );
    expect(message?.html).to.contain(message?.headers['List-Unsubscribe']?.slice(1, -1));
    // Mailbox providers count complaints by the header's last part, of at most 15 characters.
    expect(message?.headers['Feedback-ID']).to.equal(`${campaignId}:${club.id}:campaign:latform.example`);
  });

  it('waits for its start time, and only then fixes its recipients', async () => {
    const [early] = await students(1);
    await schedule('2026-03-02T13:00');
    expect(await step()).to.include({ done: false, at: later(60 * minute).getTime(), waitingFor: 'start' });
    const [late] = await students(1);
    expect(await run(later(60 * minute))).to.deep.equal({ done: true, outcome: 'sent' });
    expect(recipients()).to.have.members([early?.email, late?.email]);
  });

  it('ends as sent if its audience is empty at the start', async () => {
    const [only] = await students(1);
    await schedule('2026-03-02T13:00');
    await removeStudent(deps, club.id, only?.id ?? '', later(1));
    expect(await run(later(60 * minute))).to.deep.equal({ done: true, outcome: 'sent' });
    expect(await readCampaign(deps.db, club.id, campaignId)).to.include({ status: 'sent', recipients: 0 });
  });

  it('pauses if its start is more than 24 hours late', async () => {
    await students(1);
    await schedule();
    expect(await run(later(24 * 60 * minute + 1))).to.include({ done: false, status: 'paused' });
    expect(messages).to.deep.equal([]);
    expect(await readCampaign(deps.db, club.id, campaignId)).to.include({
      status: 'paused',
      pause_reason: 'missed_start',
      recipients: 0,
    });
  });

  it('uses the fixed recipients, but each student’s current address', async () => {
    const [ada] = await students(1);
    await schedule();
    await step();
    await buildStudent(club.id);
    await updateStudent(deps, club.id, ada?.id ?? '', { email: 'new@example.com' }, 'owner', start);
    await deps.db.manager.update(Student, ada?.id ?? '', { verifiedAt: start });
    await run();
    expect(recipients()).to.deep.equal(['new@example.com']);
    expect(await rowOf(ada ?? { id: '' })).to.include({ student_email: 'new@example.com', status: 'sent' });
  });

  it('skips students who are suppressed, removed or outside the audience', async () => {
    const [suppressed, removed, untagged, ...others] = await students(4);
    await schedule();
    await step();
    await addSuppression(deps, club.id, suppressed?.email ?? '', start);
    await removeStudent(deps, club.id, removed?.id ?? '', start);
    await deps.db.source.query(
      `UPDATE campaigns SET audience = jsonb_build_object('match', 'all', 'rules', '[{"kind":"course_progress","negate":true,"course_id":"00000000-0000-4000-8000-000000000000","percent":1}]'::jsonb) WHERE id = $1`,
      [campaignId],
    );
    await run();
    expect(recipients()).to.deep.equal([untagged, ...others].map((one) => one?.email ?? '').toSorted());
    expect(await rowOf(suppressed ?? { id: '' })).to.include({ status: 'skipped', skip_reason: 'suppressed' });
    expect(await rowOf(removed ?? { id: '' })).to.deep.include({
      status: 'skipped',
      skip_reason: 'student_removed',
      student_name: 'Removed student',
      student_email: '',
    });
  });

  it('skips an invalid address, and mails to the other recipients', async () => {
    const [long, broken, fine] = await students(3);
    await alter('students', long?.id ?? '', { email: `${'a'.repeat(65)}@example.com` });
    await alter('students', broken?.id ?? '', { email: 'ada@example.com\r\nBcc: eve@example.com' });
    await schedule();
    expect(await run()).to.deep.equal({ done: true, outcome: 'sent' });
    expect(recipients()).to.deep.equal([fine?.email]);
    for (const student of [long, broken])
      expect(await rowOf({ id: student?.id ?? '' })).to.include({ status: 'skipped', skip_reason: 'invalid_email' });
  });

  it('skips students who left the audience after the recipients were fixed', async () => {
    const [stays, leaves] = await students(2);
    await deps.db.source.query(
      `INSERT INTO tags (id, club_id, name, folded_name, created_at) VALUES ($1, $2, 'Crew', 'crew', now())`,
      ['11111111-1111-4111-8111-111111111111', club.id],
    );
    const tag = '11111111-1111-4111-8111-111111111111';
    for (const one of [stays, leaves])
      await deps.db.source.query(`INSERT INTO student_tags (student_id, tag_id, tagged_at) VALUES ($1, $2, now())`, [
        one?.id,
        tag,
      ]);
    await deps.db.source.query(`UPDATE campaigns SET audience = $2 WHERE id = $1`, [
      campaignId,
      JSON.stringify({ match: 'all', rules: [{ kind: 'has_tag', negate: false, tag_ids: [tag] }] }),
    ]);
    await schedule();
    await step();
    await deps.db.source.query(`DELETE FROM student_tags WHERE student_id = $1`, [leaves?.id]);
    await run();
    expect(recipients()).to.deep.equal([stays?.email]);
    expect(await rowOf(leaves ?? { id: '' })).to.include({ status: 'skipped', skip_reason: 'no_longer_eligible' });
  });

  it('retries a temporary refusal after 1, 5, 15 min, 1 and 4 h, then fails the mail', async () => {
    const [ada] = await students(1);
    answer = () => ({ kind: 'refused', permanent: false, reply: '451 later' });
    await schedule();
    let at = start;
    const waits: number[] = [];
    for (;;) {
      const next = await run(at);
      if (next.done || next.at === undefined) break;
      waits.push((next.at - at.getTime()) / minute);
      at = new Date(next.at);
    }
    expect(waits).to.deep.equal([1, 5, 15, 60, 240]);
    expect(messages).to.have.length(6);
    expect(await rowOf(ada ?? { id: '' })).to.include({ status: 'failed', last_error: '451 later' });
  });

  it('does not retry a permanent refusal or an unknown outcome', async () => {
    const [refused, unknown] = await students(2);
    answer = ({ to }) =>
      to === refused?.email ? { kind: 'refused', permanent: true, reply: '550 no' } : { kind: 'unknown' };
    await schedule();
    expect(await run()).to.deep.equal({ done: true, outcome: 'sent' });
    expect(messages).to.have.length(2);
    expect(await rowOf(refused ?? { id: '' })).to.include({ status: 'failed', last_error: '550 no' });
    expect(await rowOf(unknown ?? { id: '' })).to.include({ status: 'failed', last_error: 'outcome_unknown' });

    answer = () => ({ kind: 'accepted', reply: '250 ok' });
    await retryCampaign(deps, club.id, campaignId, { acceptDuplicates: false }, start);
    await run();
    expect(messages.slice(2).map(({ to }) => to)).to.deep.equal([refused?.email]);
    await retryCampaign(deps, club.id, campaignId, { acceptDuplicates: true }, start);
    await run();
    expect(messages.slice(3).map(({ to }) => to)).to.deep.equal([unknown?.email]);
  });

  it('records `unknown` for a mail at the end of its lease if the worker has died', async () => {
    const [ada] = await students(1);
    await schedule();
    await step();
    await deps.db.manager.update(Mail, { campaignId }, { status: 'sending', fence: 1, leaseUntil: later(-minute) });
    expect(await run()).to.deep.equal({ done: true, outcome: 'sent' });
    expect(messages).to.deep.equal([]);
    expect(await rowOf(ada ?? { id: '' })).to.include({ status: 'failed', last_error: 'outcome_unknown' });
  });

  it('records an opening that arrives before the mail is recorded as sent (CAMP-14)', async () => {
    const [ada, eve] = await students(2);
    answer = async ({ to }) => {
      const changes = { openedAt: later(-1_000), ...(to === eve?.email && { leaseUntil: later(-minute) }) };
      await deps.db.manager.update(Mail, { campaignId, studentEmail: to }, changes);
      return to === ada?.email ? { kind: 'unknown' } : { kind: 'refused', permanent: false, reply: '451 later' };
    };
    await schedule();
    expect(await run()).to.deep.equal({ done: true, outcome: 'sent' });
    for (const one of [ada, eve]) {
      const { status, sent_at: sentAt, opened_at: openedAt, last_error: lastError } = await rowOf(one ?? { id: '' });
      const then = later(-1_000).toISOString();
      expect([status, sentAt, openedAt, lastError]).to.deep.equal(['sent', then, then, undefined]);
    }
    expect(messages).to.have.length(2);
  });

  it('records no `sent_at` that is later than the mail’s events (CAMP-14)', async () => {
    const [ada] = await students(1);
    answer = async () => {
      await deps.db.manager.update(Mail, { campaignId }, { deliveredAt: later(-5), bouncedAt: later(-9) });
      return { kind: 'accepted', reply: '250 ok' };
    };
    await schedule();
    await run();
    expect(await rowOf(ada ?? { id: '' })).to.include({ status: 'sent', sent_at: later(-9).toISOString() });
  });

  it('records `sent` if events prove that the mail was sent before the worker died (CAMP-14)', async () => {
    const [ada] = await students(1);
    await schedule();
    await step();
    const abandoned = { status: 'sending', fence: 1, leaseUntil: later(-minute), openedAt: start } as const;
    await deps.db.manager.update(Mail, { campaignId }, abandoned);
    expect(await run()).to.deep.equal({ done: true, outcome: 'sent' });
    expect(await rowOf(ada ?? { id: '' })).to.include({ status: 'sent', sent_at: start.toISOString() });
  });

  it('records `sent` if the server’s answer arrives after the mail became `unknown` (CAMP-14)', async () => {
    const [ada] = await students(1);
    answer = async () => {
      await deps.db.manager.update(Mail, { campaignId }, { status: 'pending', attemptCount: 0, leaseUntil: null });
      return { kind: 'accepted', reply: '250 ok' };
    };
    await schedule();
    expect(await run()).to.deep.equal({ done: true, outcome: 'sent' });
    expect(messages).to.have.length(1);
    expect(await rowOf(ada ?? { id: '' })).to.include({ status: 'sent' });
  });

  it('ignores the result of a worker if its lease has ended', async () => {
    const [ada] = await students(1);
    answer = async () => {
      await deps.db.manager.update(
        Mail,
        { campaignId },
        { status: 'failed', lastError: 'outcome_unknown', leaseUntil: null },
      );
      return { kind: 'refused', permanent: false, reply: '451 later' };
    };
    await schedule();
    await run();
    expect(await rowOf(ada ?? { id: '' })).to.include({ status: 'failed', last_error: 'outcome_unknown' });
    expect(messages).to.have.length(1);
  });

  it('claims no mail while it is paused', async () => {
    const allStudents = await students(7);
    sending.smtp.connections = 1;
    answer = async () => {
      if (messages.length === 3) await pauseCampaign(deps, club.id, campaignId, start);
      return { kind: 'accepted', reply: '250 ok' };
    };
    await schedule();
    expect(await run()).to.include({ done: false, status: 'paused', waitingFor: 'resume' });
    expect(messages).to.have.length(3);
    await resumeCampaign(deps, club.id, campaignId, later(minute));
    expect(await run(later(minute))).to.deep.equal({ done: true, outcome: 'sent' });
    expect(recipients()).to.deep.equal(allStudents.map(({ email }) => email).toSorted());
  });

  it('skips the remaining recipients when it is canceled', async () => {
    const allStudents = await students(5);
    answer = async () => {
      if (messages.length === 1) await cancelCampaign(deps, club.id, campaignId, start);
      return { kind: 'refused', permanent: false, reply: '451 later' };
    };
    await schedule();
    expect(await run()).to.deep.equal({ done: true, outcome: 'canceled' });
    const rows = [...(await rowsBy()).values()];
    expect(rows.map(({ status, skip_reason: reason }) => `${status} ${reason}`)).to.deep.equal(
      allStudents.map(() => 'skipped canceled'),
    );
  });

  it('pauses after 20 refusals in a row', async () => {
    await students(30);
    answer = () => ({ kind: 'refused', permanent: true, reply: '550 no' });
    await schedule();
    expect(await run()).to.include({ done: false, status: 'paused' });
    expect(messages.length).to.be.within(20, 22);
    expect(await readCampaign(deps.db, club.id, campaignId)).to.include({ pause_reason: 'provider' });
  });

  it('pauses while the plan lacks campaigns', async () => {
    await students(3);
    answer = async () => {
      await buildPlan(club.id, 'starter');
      return { kind: 'accepted', reply: '250 ok' };
    };
    sending.smtp.connections = 1;
    await setSender(deps, club.id, { from_name: 'Knots', postal_address: 'Quay 1', mails_per_minute: 6 }, start);
    await schedule();
    await run();
    expect(await run(later(minute))).to.include({ done: false, status: 'paused', waitingFor: 'resume' });
    expect(await readCampaign(deps.db, club.id, campaignId)).to.include({ status: 'paused', pause_reason: 'plan' });
    expect(messages).to.have.length(1);
    await buildPlan(club.id, 'business');
    answer = () => ({ kind: 'accepted', reply: '250 ok' });
    await resumeCampaign(deps, club.id, campaignId, later(minute));
    expect(await run(later(2 * minute))).to.include({ status: 'sending', settled: 2 });
  });

  describe('to 2,000 recipients', () => {
    beforeEach(async () => {
      await deps.db.source.query(
        `INSERT INTO students (id, club_id, name, email, email_key, verified_at, created_at)
         SELECT id, $1, 'Ada', id || '@example.com', sha256(id::text::bytea), now(), now() FROM (SELECT gen_random_uuid() AS id FROM generate_series(1, 2000)) AS one`,
        [club.id],
      );
      await schedule();
    });

    /** Makes Postgres collect statistics while no other mails exist. */
    const counted = async (mails: number) => {
      const before = await buildCampaign(start);
      await deps.db.source.query(
        `INSERT INTO mails (id, club_id, campaign_id, student_id, student_name, student_email, status, next_attempt_at, created_at)
         SELECT gen_random_uuid(), club_id, $2, id, name, email, 'sent', now(), now() FROM students WHERE club_id = $1 LIMIT $3`,
        [club.id, before.campaignId, mails],
      );
      await deps.db.source.query('ANALYZE mails, students, campaigns');
    };

    /** The most rows that one node of the query plan reads during the claim of a page. */
    async function mostRowsRead(): Promise<number> {
      const plans: unknown[] = [];
      const pool = (deps.db.source.driver as unknown as { master: Pool }).master;
      const query = pool.query.bind(pool) as (config: QueryConfig) => Promise<QueryResult>;
      const planned = async (config: QueryConfig) => {
        if (config.name === 'claim_mails')
          await deps.db
            .transaction(async (tx) => {
              plans.push(await tx.manager.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${config.text}`, config.values));
              throw new Error('Rolled back after planning');
            })
            .catch((error: Error) => expect(error.message).to.equal('Rolled back after planning'));
        return query(config);
      };
      answer = () => ({ kind: 'refused', permanent: true, reply: '550 no' });
      pool.query = planned as typeof pool.query;
      try {
        await step();
      } finally {
        pool.query = query as typeof pool.query;
      }
      expect(plans).to.have.length.above(0);
      const counts = JSON.stringify(plans).matchAll(/"(?:Actual Rows|Rows Removed by [^"]+)":(\d+)/g);
      return Math.max(...Array.from(counts, ([, count]) => Number(count)));
    }

    it('claims mails without reading all rows, even if Postgres’s statistics are old', async () => {
      await counted(2_000);
      await deps.db.transaction(async (tx) => {
        await tx.run(sql`LOCK mails IN SHARE UPDATE EXCLUSIVE MODE`); // This lock keeps autovacuum from starting an ANALYZE.
        await step();
      });
      expect(await mostRowsRead()).to.be.below(200);
    });

    it('makes Postgres analyze the table of mails after the recipients were fixed', async () => {
      await deps.db.source.query('TRUNCATE mails CASCADE');
      await counted(1);
      await step();
      const known = await deps.db.source.query(`SELECT reltuples AS rows FROM pg_class WHERE relname = 'mails'`);
      expect(known).to.deep.equal([{ rows: 2_001 }]);
    });
  });

  it('stays below the rate limit of its sender', async () => {
    await students(5);
    await setSender(deps, club.id, { from_name: 'Knots', postal_address: 'Quay 1', mails_per_minute: 6 }, start);
    await schedule();
    const times: number[] = [];
    let at = start;
    for (;;) {
      const before = messages.length;
      const next = await run(at);
      times.push(...messages.slice(before).map(() => (at.getTime() - start.getTime()) / 1_000));
      if (next.done) break;
      at = new Date(next.at ?? 0);
    }
    expect(times).to.deep.equal([0, 10, 20, 30, 40]);
  });

  /** Returns the hours after the start at which mails went out. */
  const hoursOfMails = async () => {
    const hours: number[] = [];
    let at = start;
    for (;;) {
      const before = messages.length;
      const next = await run(at);
      hours.push(...messages.slice(before).map(() => (at.getTime() - start.getTime()) / (60 * minute)));
      if (next.done) return hours;
      expect(next.waitingFor).to.equal('day');
      at = new Date(next.at ?? 0);
    }
  };

  it('sends at most a new club’s daily number on a UTC day (CAMP-41)', async () => {
    await students(6);
    await deps.db.source.query(`UPDATE clubs SET created_at = $2 WHERE id = $1`, [club.id, start]);
    sending.warmUps = { clubs: [2, 1], domains: [] };
    await schedule();
    expect(await hoursOfMails()).to.deep.equal([0, 0, 12, 36, 36, 36]);
  });

  it('shares the trial’s daily number with the club’s other campaigns', async () => {
    await students(27);
    await buildPlan(club.id, 'trial');
    answer = () =>
      messages.length === 1 ? { kind: 'refused', permanent: true, reply: '550 no' } : { kind: 'accepted', reply: '' };
    await schedule();
    expect(await run()).to.include({ waitingFor: 'day', settled: 25 });
    const other = await createCampaign(
      deps,
      club.id,
      { name: 'Other', content: { subject: 'x', blocks: [{ kind: 'divider' }] } },
      start,
    );
    await scheduleCampaign(deps, club.id, other.id, undefined, start);
    await stepCampaign(sending, other.id, start.getTime());
    expect(await stepCampaign(sending, other.id, start.getTime())).to.include({ waitingFor: 'day', settled: 0 });
    expect(messages).to.have.length(25);
  });

  describe('from a domain of the club', () => {
    const own = async (status: 'unproven' | 'proven' | 'lapsed', firstProvenAt: Date) => {
      const mailDomains = {
        resolveText: async () => [],
        platformAddress: 'news@platform.example',
        spfInclude: undefined,
        warmUps: { clubs: [], domains: [] },
      };
      await setMailDomain({ ...deps, mailDomains }, club.id, { domain: 'knots.example', local_part: 'crew' }, start);
      await deps.db.manager.update(MailDomain, { clubId: club.id }, { status, firstProvenAt });
    };

    it('sends signed mails from the verified domain', async () => {
      await students(1);
      await own('proven', start);
      await schedule();
      await run();
      const [message] = messages;
      expect(message?.from).to.deep.equal({ name: 'Knots & Co', address: 'crew@knots.example' });
      expect(message?.signWith).to.include({ domain: 'knots.example' });
      expect(message?.signWith?.privateKey).to.match(/^-----BEGIN PRIVATE KEY-----/);
      expect(message?.envelopeFrom).to.equal('news@platform.example');
      expect(message?.messageId).to.match(/@platform\.example>$/);
      expect(message?.headers['List-Id']).to.equal(`<campaigns.${club.id}.platform.example>`);
    });

    for (const status of ['unproven', 'lapsed'] as const)
      it(`sends without a signature from the platform’s domain while the club’s domain is ${status}`, async () => {
        await students(1);
        await own(status, start);
        await schedule();
        await run();
        expect(messages[0]?.from).to.deep.equal({ name: 'Knots & Co', address: 'news@platform.example' });
        expect(messages[0]).not.to.have.property('signWith');
      });

    it('limits the mails of a domain after its first verification', async () => {
      await students(9);
      await own('proven', later(-24 * 60 * minute));
      await deps.db.source.query(`UPDATE clubs SET created_at = $2 WHERE id = $1`, [club.id, start]);
      sending.warmUps = { clubs: [5, 1], domains: [1, 2, 4] };
      await schedule();
      expect(await hoursOfMails()).to.deep.equal([0, 0, 12, 36, 36, 36, 36, 36, 36]);
    });
  });

  it('sends only in its sending window, in the club’s local time', async () => {
    await students(1);
    await deps.db.source.query(`UPDATE clubs SET time_zone = 'America/New_York' WHERE id = $1`, [club.id]);
    await deps.db.source.query(`UPDATE campaigns SET window_from = 540, window_to = 600 WHERE id = $1`, [campaignId]);
    await schedule();
    expect(await run()).to.include({ waitingFor: 'window', at: new Date('2026-03-02T14:00:00Z').getTime() });
    expect(await run(new Date('2026-03-02T14:00:00Z'))).to.deep.equal({ done: true, outcome: 'sent' });
  });

  it('does not mail an address twice if it moves to another student', async () => {
    const [first, second] = await students(2);
    await schedule();
    await step();
    sending.smtp.connections = 1;
    answer = async () => {
      if (messages.length === 1) {
        await deps.db.source.query(`UPDATE students SET email = 'gone@example.com' WHERE id = $1`, [first?.id]);
        await deps.db.source.query(`UPDATE students SET email = $2 WHERE id = $1`, [second?.id, first?.email]);
      }
      return { kind: 'accepted', reply: '250 ok' };
    };
    await run();
    expect(recipients()).to.deep.equal([first?.email]);
    expect(await rowOf(second ?? { id: '' })).to.include({ status: 'skipped', skip_reason: 'no_longer_eligible' });
  });

  it('stores no address of a student who is removed while the mail is being sent', async () => {
    const [ada] = await students(1);
    answer = async () => {
      await removeStudent(deps, club.id, ada?.id ?? '', start);
      return { kind: 'refused', permanent: false, reply: '451 later' };
    };
    await schedule();
    await run();
    expect(await run(later(minute))).to.deep.equal({ done: true, outcome: 'sent' });
    expect(messages).to.have.length(1);
    expect(await rowOf(ada ?? { id: '' })).to.deep.equal({
      id: (await rowOf(ada ?? { id: '' })).id,
      student_id: ada?.id,
      student_name: 'Removed student',
      student_email: '',
      status: 'skipped',
      skip_reason: 'student_removed',
    });
  });

  describe('the test mail to a member (CAMP-43)', () => {
    const ask = async () => (await requestTestMail(deps, club.id, campaignId, club.owner.id, start)).id;
    const sendTest = (id: Id, at = start) => sendTestMail(sending, id, at.getTime());
    const lastTestMail = async () =>
      (await listTestMails(deps.db, club.id, campaignId, { page: 1, page_size: 10 })).rows[0];

    it('is sent once, looks like the campaign’s mail, and addresses the member', async () => {
      const id = await ask();
      expect(await sendTest(id)).to.deep.equal({ done: true, outcome: 'sent' });
      expect(await sendTest(id)).to.deep.equal({ done: true, outcome: 'sent' });
      expect(messages).to.have.length(1);
      const [owner] = await deps.db.source.query<{ name: string }[]>(`SELECT name FROM administrators WHERE id = $1`, [
        club.owner.id,
      ]);
      expect(messages[0]).to.deep.include({
        from: { name: 'Knots & Co', address: 'news@platform.example' },
        to: club.owner.email,
        replyTo: 'crew@example.com',
        subject: `[Test] Hi ${owner?.name.split(' ')[0]}`,
        messageId: `<${id}@platform.example>`,
        headers: {},
      });
      expect(await lastTestMail()).to.include({ status: 'sent', sent_at: start.toISOString() });
      expect(await readStatistics(deps.db, club.id, campaignId)).to.include({ recipients: 0, sent: 0 });
    });

    it('is retried 10 s and 1 min after a temporary refusal, and then fails', async () => {
      answer = () => ({ kind: 'refused', permanent: false, reply: '451 later' });
      const id = await ask();
      const waits: number[] = [];
      let at = start;
      for (let next = await sendTest(id); !next.done; next = await sendTest(id, at)) {
        waits.push(next.at - at.getTime());
        at = new Date(next.at);
      }
      expect(waits).to.deep.equal([10_000, 60_000]);
      expect(await lastTestMail()).to.include({ status: 'failed', last_error: '451 later' });
    });

    it('is not retried after a permanent refusal or an unknown outcome', async () => {
      for (const [result, error] of [
        [{ kind: 'refused', permanent: true, reply: '550 no' }, '550 no'],
        [{ kind: 'unknown' }, 'outcome_unknown'],
      ] as const) {
        answer = () => result;
        expect(await sendTest(await ask())).to.deep.equal({ done: true, outcome: 'failed' });
        expect(await lastTestMail()).to.include({ status: 'failed', last_error: error });
      }
    });

    it('is canceled if the member has left, or if the e-mail has new problems', async () => {
      const [requestOfFormerMember, requestBeforeChange] = [await ask(), await ask()];
      await updateCampaign(deps, club.id, campaignId, { content: { blocks: [] } }, start);
      expect(await sendTest(requestBeforeChange)).to.deep.equal({ done: true, outcome: 'canceled' });
      expect(await lastTestMail()).to.include({ last_error: 'campaign_has_problems' });
      await deps.db.source.query(`DELETE FROM memberships WHERE club_id = $1`, [club.id]);
      expect(await sendTest(requestOfFormerMember)).to.deep.equal({ done: true, outcome: 'canceled' });
      expect(messages).to.deep.equal([]);
    });
  });

  describe('with an image', () => {
    const image = async (bytes: Buffer) => {
      const id = newId();
      const objectKey = `library/${id}`;
      await (await testObjectStore()).put(objectKey, 'image/png', Readable.from([bytes]));
      await deps.db.manager.insert(Media, {
        id,
        clubId: club.id,
        purpose: 'library',
        kind: 'image',
        title: 'A knot',
        provider: 'objstore',
        status: 'ready',
        mime: 'image/png',
        sizeBytes: String(bytes.length),
        objectKey,
        createdAt: start,
        updatedAt: start,
      });
      const content = { subject: 'A knot', blocks: [{ kind: 'image' as const, media_id: id, alt: 'A knot' }] };
      await updateCampaign(deps, club.id, campaignId, { content }, start);
    };

    it('publishes a copy of the image under a URL that cannot be guessed', async () => {
      await students(1);
      await image(
        await sharp({ create: { width: 20, height: 10, channels: 3, background: 'red' } })
          .png()
          .toBuffer(),
      );
      await schedule();
      const uses = () => deps.db.manager.countBy(MediaUse, { kind: 'campaign', placeId: campaignId });
      expect(await uses()).to.equal(1);
      await run();
      expect(await uses(), 'the campaign uses the copy, and does not use the image any more (MED-14)').to.equal(0);
      const [, url = ''] = /<img[^>]*src="([^"]+)"/.exec(messages[0]?.html ?? '') ?? [];
      expect(url).to.match(new RegExp(`^${sending.images.publicFilesUrl}/mail/${club.id}/[0-9a-f]{64}\\.jpg$`));
      const response = await fetch(url);
      expect(response.headers.get('content-type')).to.equal('image/jpeg');
      expect(await sharp(await response.arrayBuffer()).metadata()).to.include({ width: 20, height: 10 });
    });

    const red = () =>
      sharp({ create: { width: 20, height: 10, channels: 3, background: 'red' } })
        .png()
        .toBuffer();

    it('has no preview if the image is removed while the preview is built', async () => {
      await image(await red());
      const removed = { clubId: club.id };
      const { manager } = deps.db;
      const removing = Object.assign(Object.create(manager) as typeof manager, {
        async find(...query: Parameters<typeof manager.find>) {
          const found = await manager.find(...query);
          await manager.update(Media, removed, { removedAt: start });
          return found;
        },
      });
      const db = new Queries(removing);
      const storage = await testObjectStore();
      const preview = previewCampaign({ ...deps, db, storage }, club.id, campaignId, undefined, start);
      expect(await preview.catch(({ code }: DomainError) => code)).to.equal('campaign_has_problems');
    });

    it('pauses if the image was removed after the campaign was scheduled', async () => {
      await students(1);
      await image(await red());
      await schedule();
      await deps.db.manager.update(Media, { clubId: club.id }, { removedAt: start });
      const published: string[] = [];
      sending.images.publicStorage = { put: async (key) => void published.push(key) };
      expect(await run()).to.include({ done: false, status: 'paused' });
      expect(published).to.deep.equal([]);
    });

    it('sends the newest content if it is rescheduled while it begins', async () => {
      await students(1);
      await image(await red());
      await schedule();
      const { publicStorage } = sending.images;
      let isChanged = false;
      sending.images.publicStorage = {
        put: async (...file) => {
          await publicStorage.put(...file);
          if (isChanged) return;
          isChanged = true;
          await unscheduleCampaign(deps, club.id, campaignId, later(1));
          const content = { subject: 'Another', blocks: [{ kind: 'heading' as const, text: 'Ahoy' }] };
          await updateCampaign(deps, club.id, campaignId, { content }, later(2));
          await scheduleCampaign(deps, club.id, campaignId, undefined, later(3));
        },
      };
      await run(later(10));
      expect(messages.map(({ subject }) => subject)).to.deep.equal(['Another']);
    });

    it('pauses if the image cannot be read', async () => {
      await students(1);
      await image(Buffer.from('no image'));
      await schedule();
      expect(await run()).to.include({ done: false, status: 'paused' });
      expect(await readCampaign(deps.db, club.id, campaignId)).to.include({ pause_reason: 'problems', recipients: 0 });
      expect(messages).to.deep.equal([]);
    });
  });
});
