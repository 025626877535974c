/**
 * The scenario of campaigns and test mails: administrators schedule, pause and repeat campaigns, students unsubscribe, and a mail server
 * accepts, refuses and hangs.
 */
import { createCampaign } from '../../../../domain/campaigns/drafts/drafts.ts';
import { readStatistics } from '../../../../domain/campaigns/recipients.ts';
import {
  cancelCampaign,
  pauseCampaign,
  resumeCampaign,
  retryCampaign,
  scheduleCampaign,
  unscheduleCampaign,
} from '../../../../domain/campaigns/states.ts';
import { requestTestMail } from '../../../../domain/campaigns/drafts/test-mails.ts';
import { setSender } from '../../../../domain/mail/sending/sender.ts';
import { newId, type Id } from '../../../../platform/core/ids.ts';
import type { Simulation } from '../simulation.ts';
import { beginning, mustHold, type Command, type Stage } from '../stage.ts';
import { addClub, addStudents, type Footing } from './ground.ts';
import { loadCompiler, MailServer, recipients, type BulkMail } from './mail-server.ts';

const content = {
  subject: 'News',
  blocks: [{ kind: 'button' as const, text: 'Read', url: 'https://example.com/news' }],
};
/** The limit of mails on the first day of the club; the next day has no limit. */
const firstDay = 6;
const mailsPerMinute = 60;
const mostCampaigns = 3;
const dayMs = 86_400_000;
/** After a claim, a process may work on a campaign mail for 90 s, and on a test mail for 120 s. */
const leasesMs = { mail: 90_000, test: 120_000 };

export async function campaigns(sim: Simulation, ground: Footing): Promise<Stage> {
  const { vault } = ground;
  await loadCompiler();
  const clubId = await addClub(sim, ground);
  const students = await addStudents(sim, ground, clubId, 4);
  const administratorId = await addMember(sim, clubId);
  const now = () => new Date(sim.time.now);
  const deps = { db: sim.db };
  const sender = { from_name: 'Knots', postal_address: 'Quay 1', mails_per_minute: mailsPerMinute };
  await setSender(deps, clubId, sender, now());
  const tests = new Set<Id>();
  const server = new MailServer(sim, (key) => (tests.has(key) ? leasesMs.test : leasesMs.mail));
  const people = recipients(sim, ground, { server, clubId, kind: 'campaigns' });
  const campaignIds: Id[] = [];
  let requestCount = 0;
  /** For each campaign, the number of retries that accept duplicates. */
  const retries = new Map<Id, number>();

  const act = (label: string, campaignId: Id | undefined, run: (id: Id) => Promise<unknown>): Command => ({
    label: `${label} campaign ${campaignId ?? ''}`,
    async run() {
      if (campaignId !== undefined) await run(campaignId);
    },
  });
  const stopped = (id: Id) => `stopped ${id}`;
  const stop = async (id: Id, why: string) => server.forbid(stopped(id), why, { mails: 'campaign_id = $1', of: id });
  const start = async (id: Id, work: () => Promise<unknown>) => {
    try {
      await work();
    } finally {
      server.allow(stopped(id)); // runs even if the commit succeeded and only its answer was lost
    }
  };
  const resume = (id: Id | undefined) =>
    act('resume', id, (one) => start(one, () => resumeCampaign(deps, clubId, one, now())));

  function schedule(at: string | undefined): Command {
    return {
      label: 'schedule a campaign',
      async run() {
        if (requestCount >= mostCampaigns) return;
        requestCount++; // counts the request before the campaign exists, because other commands run in the meantime
        const { id } = await createCampaign(deps, clubId, { name: 'Spring', content }, now());
        campaignIds.push(id);
        await scheduleCampaign(deps, clubId, id, at, now());
      },
    };
  }

  const retry = (id: Id | undefined, acceptDuplicates: boolean) =>
    act(`retry, ${acceptDuplicates ? 'twice or not,' : 'what was refused of'}`, id, (one) => {
      if (acceptDuplicates) retries.set(one, (retries.get(one) ?? 0) + 1);
      return start(one, () => retryCampaign(deps, clubId, one, { acceptDuplicates }, now()));
    });

  return {
    types: ['campaignRun', 'testMail'],
    horizonMs: 4 * dayMs,
    depsFor: (db) => ({
      campaigns: {
        db,
        vault,
        smtp: server.connect(),
        images: {
          storage: { read: noStore, signGet: noStore },
          publicStorage: { put: noStore },
          publicFilesUrl: 'https://files.test',
        },
        fromAddress: 'news@platform.test',
        marks: { providers: [], returnAddress: undefined },
        warmUps: { clubs: [firstDay], domains: [] },
        publicUrl: 'https://api.test',
        onOutcome: () => {},
        failpoint: () => Promise.resolve(),
      },
    }),
    command(decisions) {
      const which = decisions.choose(16);
      if (which === 0 || campaignIds.length === 0) return schedule(undefined);
      const id = decisions.pick(campaignIds);
      if (which < 4) return server.someMood(decisions);
      if (which < 8) return people.command(decisions, decisions.pick(students));
      if (which === 8)
        return act('pause', id, async (one) => {
          await pauseCampaign(deps, clubId, one, now());
          await stop(one, 'its campaign was paused');
        });
      if (which === 9) return resume(id);
      if (which === 10)
        return act('cancel', id, async (one) => {
          await cancelCampaign(deps, clubId, one, now());
          await stop(one, 'its campaign was canceled');
        });
      if (which === 11) return retry(id, false);
      if (which === 12) return retry(id, true);
      if (which === 13)
        return act('test', id, async (one) => {
          const { id: test } = await requestTestMail(deps, clubId, one, administratorId, now());
          tests.add(test);
        });
      if (which === 14) return act('unschedule', id, (one) => unscheduleCampaign(deps, clubId, one, now()));
      return schedule(decisions.pick(['2026-11-02T12:00', '2026-11-02T23:59']));
    },
    calm: () => [server.turn('accepts'), ...campaignIds.map(resume)],
    atRest: async () => server.expectNothingBroken(),
    async atEnd() {
      server.expectNothingBroken();
      const mails = await server.expectStories(({ campaignId }) => retries.get(campaignId ?? '') ?? 0);
      await expectTests();
      await expectEnds(mails);
      expectPace(new Set(mails.map(({ id }) => id)));
      await people.expectNoTraces();
      await people.expectReported();
    },
  };

  async function expectTests(): Promise<void> {
    const rows = await sim.postgres.ask<{ id: Id; status: string; fence: number }>(
      'SELECT id, status, fence FROM test_mails',
    );
    for (const { id, status, fence } of rows) {
      const acceptedCount = server.acceptedTimes(id);
      const about = () => `test ${id} (${status}): taken ${acceptedCount} times, ${fence} claims`;
      mustHold(status !== 'pending', 'all work ends', about);
      mustHold(status !== 'sent' || acceptedCount > 0, 'a recorded effect has happened', about);
      // A dead worker may have sent the mail, and then another worker sends it again.
      mustHold(acceptedCount <= (sim.cuts > 0 || sim.slow ? fence : 1), 'no effect happens twice', about);
    }
    server.expectNoOthers(new Set(rows.map(({ id }) => id)));
  }

  async function expectEnds(mails: readonly BulkMail[]): Promise<void> {
    const rows = await sim.postgres.ask<{ id: Id; status: string; recipients: number }>(
      'SELECT id, status, recipients FROM campaigns',
    );
    for (const { id, status, recipients: frozen } of rows) {
      const ofIt = mails.filter(({ campaignId }) => campaignId === id);
      mustHold(status !== 'scheduled' && status !== 'sending', 'all work ends', () => `campaign ${id} is ${status}`);
      mustHold(
        status === 'paused' || ofIt.every((mail) => mail.status !== 'pending'),
        'all work ends',
        () => `campaign ${id} is ${status}, and has mails that wait`,
      );
      mustHold(
        ofIt.length === frozen && new Set(ofIt.map(({ studentId }) => studentId)).size === frozen,
        'recipients are frozen once',
        () => `campaign ${id} has ${ofIt.length} mails for ${frozen} recipients`,
      );
      await expectSums(id, ofIt);
    }
  }

  async function expectSums(id: Id, mails: readonly BulkMail[]): Promise<void> {
    const statistics = await readStatistics(sim.db, clubId, id);
    const [events] = await sim.postgres.ask<Record<'delivered' | 'bounced' | 'complained', number>>(
      `SELECT count(delivered_at)::int AS delivered, count(bounced_at)::int AS bounced, count(complained_at)::int AS complained FROM mails WHERE campaign_id = $1`,
      [id],
    );
    const reasons = Object.entries(
      Object.groupBy(
        mails.filter(({ reason }) => reason !== null),
        ({ reason }) => String(reason),
      ),
    );
    const count = (status: string) => mails.filter((mail) => mail.status === status).length;
    const counts = {
      recipients: mails.length,
      pending: count('pending'),
      sending: count('sending'),
      sent: count('sent'),
      skipped: count('skipped'),
      failed: count('failed'),
      ...events,
      skip_reasons: reasons.map(([reason, of]) => `${reason} ${of?.length}`).toSorted(),
    };
    const { skip_reasons: saidReasons, ...said } = statistics;
    const same = Object.entries({
      ...said,
      skip_reasons: Object.entries(saidReasons)
        .map(([reason, of]) => `${reason} ${of}`)
        .toSorted(),
    })
      .filter(([name]) => name in counts)
      .every(([name, value]) => JSON.stringify(value) === JSON.stringify(counts[name as keyof typeof counts]));
    mustHold(
      same,
      'sums are equal',
      () => `campaign ${id} says ${JSON.stringify(statistics)}, and has ${JSON.stringify(counts)}`,
    );
  }

  /**
   * Checks the daily limit of mails (CAMP-41). The day may end a little later for a process with a wrong clock, or for a page of recipients
   * that waits.
   */
  function expectPace(mails: ReadonlySet<Id>): void {
    if (sim.slow) return;
    const midnight = Math.ceil(beginning / dayMs) * dayMs;
    const sentCount = server.log.filter(({ key, at }) => at < midnight && mails.has(key)).length;
    mustHold(
      sentCount <= firstDay,
      'a club sends no more in a day than it may',
      () => `${sentCount} mails on the first day`,
    );
  }
}

const noStore = () => Promise.reject(new Error('No mail has an image'));

async function addMember(sim: Simulation, clubId: Id): Promise<Id> {
  const id = newId();
  const at = new Date(sim.time.now);
  await sim.postgres.ask(
    `INSERT INTO administrators (id, name, email, verified_at, created_at) VALUES ($1, 'Ada', 'ada@example.com', $2, $2)`,
    [id, at],
  );
  await sim.postgres.ask(
    `INSERT INTO memberships (club_id, administrator_id, role, joined_at) VALUES ($1, $2, 'owner', $3)`,
    [clubId, id, at],
  );
  return id;
}
