/** Tests the outcomes of a recipient's row with a real mail server (CAMP-6). */
import { expect } from 'chai';
import type { Pool } from 'pg';
import { readConfig } from '../../../config.ts';
import type { Mailbox } from '../../../dev/mailbox/mailbox.ts';
import { listDeliveries, readStatistics } from '../../../domain/campaigns/recipients.ts';
import { readCampaign } from '../../../domain/campaigns/records.ts';
import type { SendingDeps } from '../../../domain/campaigns/sending.ts';
import {
  cancelCampaign,
  pauseCampaign,
  resumeCampaign,
  retryCampaign,
  scheduleCampaign,
} from '../../../domain/campaigns/states.ts';
import { stepCampaign, type CampaignStep } from '../../../domain/campaigns/step.ts';
import { unsubscribe } from '../../../domain/mail/suppressions/preferences.ts';
import { setSender } from '../../../domain/mail/sending/sender.ts';
import { addSuppression } from '../../../domain/mail/suppressions/suppressions.ts';
import { unsubscribeToken } from '../../../domain/mail/suppressions/unsubscribe-link.ts';
import { removeStudent, updateStudent } from '../../../domain/students/students.ts';
import { Mail } from '../../../entities/mail/mail.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { createSmtpHandOver, type SmtpHandOver } from '../../../platform/infra/smtp/smtp-hand-over.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import { buildCampaign } from '../../toolkit/builders/campaigns.ts';
import { buildStudent, type TestClub, type TestStudent } from '../../toolkit/builders/clubs.ts';
import { sendingDeps } from '../../toolkit/drive/campaigns.ts';
import { inThisOrder, untilWaitingForLocks, withOpenTransaction } from '../../toolkit/drive/races.ts';
import { testDeps } from '../../toolkit/stack/database.ts';
import { until } from '../../toolkit/drive/until.ts';
import { databaseOf } from '../../toolkit/fakes/databases.ts';
import { testStack } from '../../toolkit/stack/stack.ts';

const start = new Date('2026-03-02T12:00:00Z');
const minute = 60_000;
const later = (ms: number) => new Date(start.getTime() + ms);

describe('the row of a campaign’s recipient', () => {
  let deps: Awaited<ReturnType<typeof testDeps>>;
  let mailbox: Mailbox;
  let smtp: SmtpHandOver;
  let sending: SendingDeps;
  let club: TestClub;
  let campaignId: Id;
  let ada: TestStudent;

  before(async () => {
    deps = await testDeps();
    const stack = await testStack();
    if (!stack.mailbox) throw new Error('The stack has no mailbox, which these tests need to refuse mails');
    mailbox = stack.mailbox;
    smtp = createSmtpHandOver({ smtpUrl: readConfig().mail.smtpUrl, connections: 2 });
  });
  after(() => smtp.close());
  beforeEach(async () => {
    sending = await sendingDeps({ ...smtp });
    ({ club, campaignId } = await buildCampaign(start));
    ada = await buildStudent(club.id, { createdAt: later(-minute) });
  });
  afterEach(() => mailbox.succeed());

  const schedule = (id = campaignId) => scheduleCampaign(deps, club.id, id, undefined, start);
  const step = (at = start) => stepCampaign(sending, campaignId, at.getTime());
  /** Runs steps until the campaign waits for a time or has ended. */
  const run = async (at = start): Promise<CampaignStep> => {
    for (let steps = 0; steps < 20; steps++) {
      const next = await step(at);
      if (next.done || next.at !== undefined) return next;
    }
    throw new Error('The campaign did not wait or end within the allowed number of steps');
  };
  const rows = async () => (await listDeliveries(deps.db, club.id, campaignId, { page: 1, page_size: 100 })).rows;
  /** In the format of the tables below: status, reason or error. */
  const row = async (): Promise<string> => {
    const found = (await rows()).find(({ student_id: id }) => id === ada.id);
    return [found?.status, found?.skip_reason, found?.last_error?.replace(/ .*/, '')].filter(Boolean).join(' ');
  };
  const arrived = (email = ada.email) => mailbox.summaries({ to: email }).length;
  const readRow = () => deps.db.manager.findOneByOrFail(Mail, { campaignId, studentId: ada.id });

  describe('after the server’s reply', () => {
    for (const [fault, expected, copies] of [
      [undefined, 'sent', 1],
      [{ at: 'connect', reply: 421 }, 'pending 421', 0],
      [{ at: 'connect', reply: 554 }, 'pending 554', 0],
      [{ at: 'connect', reply: 'drop' }, 'pending ECONNECTION', 0],
      [{ at: 'mail', reply: 451 }, 'pending 451', 0],
      [{ at: 'mail', reply: 'drop' }, 'pending ECONNECTION', 0],
      [{ at: 'rcpt', reply: 450 }, 'pending 450', 0],
      [{ at: 'rcpt', reply: 550 }, 'failed 550', 0],
      [{ at: 'rcpt', reply: 'drop' }, 'pending ECONNECTION', 0],
      [{ at: 'message', reply: 452 }, 'pending 452', 0],
      [{ at: 'message', reply: 554 }, 'failed 554', 0],
      [{ at: 'message', reply: 'drop' }, 'failed outcome_unknown', 0],
      [{ at: 'message', reply: 'drop', kept: true }, 'failed outcome_unknown', 1],
    ] as const) {
      const what =
        fault === undefined
          ? 'accepts the mail'
          : `${fault.reply === 'drop' ? 'cuts the connection' : `answers ${fault.reply}`} at the stage ${fault.at}`;
      const half = fault && 'kept' in fault ? ' after it has stored the mail' : '';
      it(`becomes “${expected}” if the server ${what}${half}`, async () => {
        const own = createSmtpHandOver({ smtpUrl: readConfig().mail.smtpUrl, connections: 1 });
        sending = await sendingDeps(own);
        if (fault) mailbox.failNext(fault);
        await schedule();
        const next = await run();
        expect([await row(), arrived()]).to.deep.equal([expected, copies]);
        if (expected.startsWith('pending')) {
          expect(next).to.include({ waitingFor: 'retries', at: later(minute).getTime() });
          await run(later(minute));
          expect([await row(), arrived()]).to.deep.equal(['sent', 1]);
        } else expect(next).to.deep.equal({ done: true, outcome: 'sent' });
        own.close();
      });
    }

    it('is retried after an unknown outcome only if duplicates are allowed', async () => {
      const bob = await buildStudent(club.id);
      mailbox.failNext({ at: 'rcpt', reply: 550, to: bob.email });
      mailbox.failNext({ at: 'message', reply: 'drop', kept: true, to: ada.email });
      await schedule();
      await run();
      const counts = () => [arrived(), arrived(bob.email)];
      expect(counts()).to.deep.equal([1, 0]);
      await retryCampaign(deps, club.id, campaignId, { acceptDuplicates: false }, start);
      expect(await run()).to.deep.equal({ done: true, outcome: 'sent' });
      expect([await row(), ...counts()]).to.deep.equal(['failed outcome_unknown', 1, 1]);
      await retryCampaign(deps, club.id, campaignId, { acceptDuplicates: true }, start);
      await run();
      expect([await row(), ...counts()]).to.deep.equal(['sent', 2, 1]);
    });

    it('waits while the server is unreachable', async () => {
      for (let number = 0; number < 40; number++) await buildStudent(club.id);
      mailbox.failNext({ at: 'connect', reply: 'drop', times: 1_000 });
      const own = createSmtpHandOver({ smtpUrl: readConfig().mail.smtpUrl, connections: 4 });
      sending = await sendingDeps({ ...own, handOver: async () => ({ kind: 'not_sent', reply: 'ECONNECTION' }) });
      await schedule();
      expect(await run()).to.include({ waitingFor: 'server', at: later(15_000).getTime(), status: 'sending' });
      const tried = (await rows()).filter(({ last_error: error }) => error !== undefined);
      expect(tried.length).to.be.within(20, 23);
      mailbox.succeed();
      sending = await sendingDeps(own);
      await setSender(deps, club.id, { from_name: 'Knots', postal_address: 'Quay 1', mails_per_minute: 6_000 }, start);
      expect(await run(later(minute))).to.deep.equal({ done: true, outcome: 'sent' });
      expect(new Set((await rows()).map(({ status }) => status))).to.deep.equal(new Set(['sent']));
      own.close();
    });

    it('becomes `sent` if the server accepted the mail while Postgres was unreachable', async () => {
      const pool = (deps.db.source.driver as unknown as { master: Pool }).master;
      const query = pool.query.bind(pool) as (...given: unknown[]) => Promise<unknown>;
      sending.smtp.handOver = async (message) => {
        const answer = await smtp.handOver(message);
        let remainingFailures = 2;
        pool.query = (async (...given: unknown[]) => {
          if (remainingFailures-- > 0) throw new Error('Connection terminated unexpectedly');
          pool.query = query as typeof pool.query;
          return query(...given);
        }) as typeof pool.query;
        return answer;
      };
      await schedule();
      expect(await run()).to.deep.equal({ done: true, outcome: 'sent' });
      expect([await row(), arrived()]).to.deep.equal(['sent', 1]);
    });

    it('changes from `unknown` to `sent` if the server’s acceptance arrives late', async () => {
      sending.smtp.handOver = async (message) => {
        const answer = await smtp.handOver(message);
        const unknownOutcome = { status: 'failed', lastError: 'outcome_unknown', leaseUntil: null } as const;
        await deps.db.manager.update(Mail, { campaignId }, unknownOutcome);
        return answer;
      };
      await schedule();
      await run();
      expect([await row(), arrived()]).to.deep.equal(['sent', 1]);
    });

    it('is released if the mail cannot be composed, and the step fails', async () => {
      sending.smtp.handOver = () => Promise.reject(new Error('An internal error'));
      await schedule();
      await step();
      const fault = await step().catch((error: unknown) => error);
      expect(fault).to.include({ message: 'An internal error' });
      expect(await row()).to.equal('pending not_composed');
      expect(await readRow()).to.include({ leaseUntil: null });
    });
  });

  describe('with a concurrent change', () => {
    /** The row's state if the act comes before the claim, after the claim, or during a temporary refusal. */
    const acts: Record<string, { act: () => Promise<unknown>; before: string; afterClaim: string; refused: string }> = {
      'a pause': {
        act: () => pauseCampaign(deps, club.id, campaignId, start),
        before: 'pending',
        afterClaim: 'sent',
        refused: 'pending 451',
      },
      'a cancellation': {
        act: () => cancelCampaign(deps, club.id, campaignId, start),
        before: 'skipped canceled',
        afterClaim: 'sent',
        refused: 'skipped canceled 451',
      },
      'the removal of the student': {
        act: () => removeStudent(deps, club.id, ada.id, start),
        before: 'skipped student_removed',
        afterClaim: 'sent',
        refused: 'skipped student_removed',
      },
      'an unsubscription': {
        act: () =>
          unsubscribe(deps, club.id, unsubscribeToken(deps.vault, { kind: 'campaigns', studentId: ada.id }), start),
        before: 'skipped unsubscribed',
        afterClaim: 'sent',
        refused: 'skipped unsubscribed 451',
      },
      'a suppression by hand': {
        act: () => addSuppression(deps, club.id, ada.email, start),
        before: 'skipped suppressed',
        afterClaim: 'sent',
        refused: 'skipped suppressed 451',
      },
      'a bounce': {
        act: () => suppress('bounce'),
        before: 'skipped bounced',
        afterClaim: 'sent',
        refused: 'skipped bounced 451',
      },
      'a complaint': {
        act: () => suppress('complaint'),
        before: 'skipped complained',
        afterClaim: 'sent',
        refused: 'skipped complained 451',
      },
    };
    const suppress = async (reason: 'bounce' | 'complaint') => {
      await addSuppression(deps, club.id, ada.email, start);
      await deps.db.run(sql`UPDATE mail_suppressions SET reason = ${reason} WHERE club_id = ${club.id}`);
    };
    const once = (act: () => Promise<unknown>) => {
      let isDone = false;
      return async () => {
        if (!isDone) await act();
        isDone = true;
      };
    };

    for (const [name, { act, before, afterClaim, refused }] of Object.entries(acts)) {
      it(`is ${before} after ${name} before the claim`, async () => {
        const now = once(act);
        sending.smtp.onConnection = (work) => smtp.onConnection(async () => (await now(), work()));
        await schedule();
        await run();
        expect([await row(), arrived()]).to.deep.equal([before, 0]);
        expect(await readRow()).to.include({ leaseUntil: null });
      });

      it(`is ${afterClaim} after ${name} between the claim and the sending`, async () => {
        const now = once(act);
        sending.smtp.handOver = async (message) => (await now(), smtp.handOver(message));
        await schedule();
        await run();
        expect([await row(), arrived()]).to.deep.equal([afterClaim, 1]);
        expect(await readRow()).to.include({ leaseUntil: null });
      });

      it(`is ${refused} after ${name} during a temporary refusal`, async () => {
        const now = once(act);
        mailbox.failNext({ at: 'rcpt', reply: 451, to: ada.email });
        sending.smtp.handOver = async (message) => (await now(), smtp.handOver(message));
        await schedule();
        await run();
        await run(later(minute));
        expect([await row(), arrived()]).to.deep.equal([refused, 0]);
      });
    }

    for (const name of ['a cancellation', 'the removal of the student'] as const) {
      it(`is not claimed while ${name} is uncommitted`, async () => {
        await schedule();
        await step();
        let passing: Promise<unknown> | undefined;
        await withOpenTransaction(
          (tx) => {
            const within = { ...deps, db: databaseOf(tx) };
            return name === 'a cancellation'
              ? cancelCampaign(within, club.id, campaignId, start)
              : removeStudent(within, club.id, ada.id, start);
          },
          async () => {
            passing = step();
            // A cancellation also locks the campaign, so the step waits for its commit at the end of the page.
            await (name === 'a cancellation' ? untilWaitingForLocks(1) : passing);
            expect(await row()).to.equal('pending');
          },
        );
        await passing;
        await run();
        expect([await row(), arrived()]).to.deep.equal([acts[name]?.before, 0]);
      });
    }

    for (const when of ['before', 'after'] as const)
      it(`keeps an unknown outcome if the student is removed ${when} it is recorded (CAMP-6)`, async () => {
        const removal = () => removeStudent(deps, club.id, ada.id, start);
        sending.smtp.handOver = async (message) => {
          await smtp.handOver(message);
          if (when === 'before') await removal();
          return { kind: 'unknown' };
        };
        await schedule();
        await run();
        if (when === 'after') await removal();
        expect([await row(), arrived()]).to.deep.equal(['failed outcome_unknown', 1]);
        await retryCampaign(deps, club.id, campaignId, { acceptDuplicates: false }, start);
        await run(later(minute));
        expect([await row(), arrived()]).to.deep.equal(['failed outcome_unknown', 1]);
      });

    it('has the new address only if the address changes before the claim', async () => {
      const [before, after] = [`before-${ada.id}@example.com`, `after-${ada.id}@example.com`];
      const change = (email: string) => updateStudent(deps, club.id, ada.id, { email }, 'owner', start);
      const [first, second] = [once(() => change(before)), once(() => change(after))];
      sending.smtp.onConnection = (work) => smtp.onConnection(async () => (await first(), work()));
      sending.smtp.handOver = async (message) => (await second(), smtp.handOver(message));
      await schedule();
      await run();
      const toThem = (email: string) => mailbox.summaries({ to: email }).filter(({ subject }) => subject === 'Hi you');
      expect([ada.email, before, after].map((email) => toThem(email).length)).to.deep.equal([0, 1, 0]);
      expect((await rows())[0]).to.include({ status: 'sent', student_email: before });
    });
  });

  describe('after a worker has died', () => {
    const abandon = (leaseUntil: Date) =>
      deps.db.manager.update(Mail, { campaignId }, { status: 'sending', fence: 1, leaseUntil });
    const over = () => abandon(new Date(Date.now() - 1_000));

    for (const [name, act, status] of [
      ['paused', pauseCampaign, 'paused'],
      ['canceled', cancelCampaign, 'canceled'],
    ] as const) {
      it(`does not keep the status \`sending\` if the campaign was ${name}`, async () => {
        await schedule();
        await step();
        const leaseUntil = new Date(Date.now() + minute);
        await abandon(leaseUntil);
        await act(deps, club.id, campaignId, start);
        expect(await run()).to.include({ status, waitingFor: 'under_way', at: leaseUntil.getTime() });
        await over();
        await run();
        expect(await row()).to.equal('failed outcome_unknown');
      });
    }

    it('is settled when its lease ends, even outside the sending window', async () => {
      await buildStudent(club.id);
      const now = new Date();
      const inTwoHours = (now.getUTCHours() * 60 + now.getUTCMinutes() + 120) % 1_440;
      await scheduleCampaign(deps, club.id, campaignId, undefined, now);
      await step(now);
      await deps.db
        .run(sql`UPDATE campaigns SET window_from = ${inTwoHours}::int, window_to = ${(inTwoHours + 60) % 1_440}::int
        WHERE id = ${campaignId}`);
      const leaseUntil = new Date(now.getTime() + minute);
      await deps.db.manager.update(Mail, { studentId: ada.id }, { status: 'sending', fence: 1, leaseUntil });
      expect(await run(now)).to.include({ waitingFor: 'window', at: leaseUntil.getTime() });
    });
  });

  describe('with two workers on one campaign', () => {
    it('is inserted once if both workers fix the recipients', async () => {
      for (let number = 0; number < 20; number++) await buildStudent(club.id);
      await schedule();
      await inThisOrder(
        sql`SELECT 1 FROM campaigns WHERE id = ${campaignId} FOR UPDATE`,
        () => step(),
        () => step(),
      );
      expect(await rows()).to.have.length(21);
      expect(await readCampaign(deps.db, club.id, campaignId)).to.include({ status: 'sending', recipients: 21 });
    });

    it('is mailed once if two workers send the same page at the same time', async () => {
      const others = [];
      for (let number = 0; number < 20; number++) others.push(await buildStudent(club.id));
      await schedule();
      await step();
      await Promise.all([step(), step(), step()]);
      await run(later(minute));
      expect([ada, ...others].map(({ email }) => arrived(email))).to.deep.equal(Array.from({ length: 21 }, () => 1));
      expect((await rows()).filter(({ status }) => status !== 'sent')).to.deep.equal([]);
    });

    it('is claimed only if a connection is idle', async () => {
      for (let number = 0; number < 4; number++) await buildStudent(club.id);
      await schedule();
      await step();
      const going = Promise.withResolvers<void>();
      sending.smtp.handOver = async (message) => {
        await going.promise;
        return message.to === ada.email ? { kind: 'unknown' } : smtp.handOver(message);
      };
      const page = step();
      const statuses = async () => {
        const { pending, sending: inFlight, sent, failed } = await readStatistics(deps.db, club.id, campaignId);
        return { pending, underWay: inFlight, sent, failed };
      };
      await until('two claims', { timeoutMs: 5_000 }, async () => (await statuses()).underWay === 2);
      expect(await statuses()).to.deep.equal({ pending: 3, underWay: 2, sent: 0, failed: 0 });
      going.resolve();
      await page;
      expect(await statuses()).to.deep.equal({ pending: 0, underWay: 0, sent: 4, failed: 1 });
    });

    it('belongs to only one run if the campaign is scheduled twice', async () => {
      const [first, second] = await inThisOrder(
        sql`SELECT 1 FROM campaigns WHERE id = ${campaignId} FOR UPDATE`,
        () => schedule(),
        () => schedule().catch((error: unknown) => error),
      );
      expect(first).to.include({ status: 'scheduled' });
      expect(second).to.include({ code: 'campaign_not_draft' });
      const wakes = await deps.db.rows(sql`SELECT FROM wakes WHERE subject_id = ${campaignId}`);
      expect(wakes).to.have.length(1);
    });
  });

  it('is not created before the start time, even after a pause and a resumption', async () => {
    await scheduleCampaign(deps, club.id, campaignId, '2026-03-02T13:00', start);
    await pauseCampaign(deps, club.id, campaignId, start);
    await resumeCampaign(deps, club.id, campaignId, later(minute));
    expect(await run(later(minute))).to.include({ waitingFor: 'start', at: later(60 * minute).getTime() });
    expect(arrived()).to.equal(0);
    await pauseCampaign(deps, club.id, campaignId, later(2 * minute));
    await resumeCampaign(deps, club.id, campaignId, later(61 * minute));
    await run(later(61 * minute));
    expect([await row(), arrived()]).to.deep.equal(['sent', 1]);
  });
});
