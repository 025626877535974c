import { expect } from 'chai';
import { activities as all } from '../../activities/index.ts';
import { readConfig } from '../../config.ts';
import type { Mailbox } from '../../dev/mailbox/mailbox.ts';
import { beginDigests } from '../../domain/community/digests/beginning.ts';
import { readCampaign } from '../../domain/campaigns/records.ts';
import { pauseCampaign, resumeCampaign, scheduleCampaign } from '../../domain/campaigns/states.ts';
import { SpaceDigest } from '../../entities/community/space-digest.ts';
import type { Id } from '../../platform/core/ids.ts';
import { createSmtpHandOver, type SmtpHandOver } from '../../platform/infra/smtp/smtp-hand-over.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import { workflowIdOf } from '../../platform/engine/workflow-types.ts';
import type { beginDigests as beginning, campaignRun, spaceDigest } from '../../workflows/index.ts';
import { buildPlan } from '../toolkit/builders/billing.ts';
import { buildCampaign } from '../toolkit/builders/campaigns.ts';
import { buildPost, buildSpace, buildSpaceMembership } from '../toolkit/builders/community.ts';
import { buildStudent, type TestClub, type TestStudent } from '../toolkit/builders/clubs.ts';
import { sendingDeps } from '../toolkit/drive/campaigns.ts';
import { digestDeps } from '../toolkit/drive/digests.ts';
import { until } from '../toolkit/drive/until.ts';
import { testDeps } from '../toolkit/stack/database.ts';
import { testStack } from '../toolkit/stack/stack.ts';
import { useTimeSkipping } from '../toolkit/stack/time-skipping.ts';
import { runWorkerHere } from '../toolkit/stack/worker.ts';

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

describe('the workflow of a campaign or digest', function () {
  this.timeout(60_000);
  const workers: { stop(): Promise<void> }[] = [];
  after('stop the worker, before its server', () => Promise.all(workers.map((worker) => worker.stop())));
  const environment = useTimeSkipping();
  let deps: Awaited<ReturnType<typeof testDeps>>;
  let mailbox: Mailbox;
  let smtp: SmtpHandOver;
  let club: TestClub;
  let campaignId: Id;
  let ada: TestStudent;
  let now: Date;
  /** Times on the clock of the time-skipping server. */
  let handedOver: number[];

  before('start the worker', async () => {
    const stack = await testStack();
    if (!stack.mailbox) throw new Error('The stack has no mailbox, which these tests set to refuse a mail.');
    mailbox = stack.mailbox;
    deps = await testDeps();
    smtp = createSmtpHandOver({ smtpUrl: readConfig().mail.smtpUrl, connections: 1 });
    const campaigns = await sendingDeps({
      ...smtp,
      handOver: async (message) => {
        handedOver.push(await environment().currentTimeMs());
        return smtp.handOver(message);
      },
    });
    const digests = await digestDeps(campaigns.smtp);
    const activities = { ...all.campaignRun({ campaigns }), ...all.spaceDigest({ digests }) };
    workers.push(await runWorkerHere(environment().nativeConnection, { taskQueue: 'campaigns', activities }));
    const begins = all.beginDigests(deps);
    workers.push(await runWorkerHere(environment().nativeConnection, { taskQueue: 'upkeep', activities: begins }));
  });
  after('close the SMTP connections', () => smtp.close());
  beforeEach(async () => {
    handedOver = [];
    now = new Date(await environment().currentTimeMs());
    ({ club, campaignId } = await buildCampaign(now));
    ada = await buildStudent(club.id);
  });

  /** The start is rounded to minutes. The club's local time is UTC. */
  const schedule = (inMs: number) => {
    const at = new Date(Math.ceil((now.getTime() + inMs) / minute) * minute);
    return scheduleCampaign(deps, club.id, campaignId, at.toISOString().slice(0, 16), now).then(() => at.getTime());
  };
  const start = () =>
    environment().client.workflow.start<typeof campaignRun>('campaignRun', {
      workflowId: workflowIdOf('campaignRun', campaignId),
      taskQueue: 'campaigns',
      args: [campaignId],
    });
  const arrived = () => mailbox.summaries({ to: ada.email }).length;

  it('begins after a month, and sends a refused mail again a minute later', async () => {
    mailbox.failNext({ at: 'rcpt', reply: 451, to: ada.email });
    const at = await schedule(30 * day);
    expect(await (await start()).result()).to.equal('sent');
    expect(handedOver).to.have.length(2);
    const [first = 0, second = 0] = handedOver;
    expect(first - at).to.be.within(0, 5_000);
    expect(second - first).to.be.within(minute - 5_000, minute + 5_000);
    expect(arrived()).to.equal(1);
  });

  it('waits for the time window of the campaign, in the time zone of the club', async () => {
    const opens = new Date(now.getTime() + 7 * hour);
    const minuteOfDay = opens.getUTCHours() * 60 + opens.getUTCMinutes();
    await deps.db.run(sql`UPDATE clubs SET time_zone = 'Asia/Kolkata' WHERE id = ${club.id}`);
    // Kolkata is 5 h 30 min ahead of UTC, all year.
    const local = (minuteOfDay + 330) % 1_440;
    await deps.db.run(sql`UPDATE campaigns SET window_from = ${local}::int, window_to = ${(local + 60) % 1_440}::int
      WHERE id = ${campaignId}`);
    await scheduleCampaign(deps, club.id, campaignId, undefined, now);
    expect(await (await start()).result()).to.equal('sent');
    const due = Math.floor(opens.getTime() / minute) * minute;
    expect((handedOver[0] ?? 0) - due).to.be.within(0, 5_000);
  });

  it('stays paused for weeks, and continues after an administrator resumes it', async () => {
    await scheduleCampaign(deps, club.id, campaignId, undefined, now);
    await pauseCampaign(deps, club.id, campaignId, now);
    const run = await start();
    await until('the paused run', { timeoutMs: 10_000 }, async () => {
      const [found] = await deps.db.rows<{ looks: Date }>(
        sql`SELECT looks_at AS looks FROM campaigns WHERE id = ${campaignId} AND looks_at > ${new Date(now.getTime() + day)}`,
      );
      return found !== undefined;
    });
    await environment().sleep(15 * day);
    expect(await readCampaign(deps.db, club.id, campaignId)).to.include({ status: 'paused' });
    expect(arrived()).to.equal(0);
    await resumeCampaign(deps, club.id, campaignId, new Date(await environment().currentTimeMs()));
    await run.signal('lookAgain');
    expect(await run.result()).to.equal('sent');
    expect(arrived()).to.equal(1);
  });

  describe('a digest (COMM-17)', () => {
    beforeEach(async () => {
      // Digests of other tests could become due again.
      await deps.db.run(sql`DELETE FROM space_digests`);
      await deps.db.run(sql`UPDATE community_memberships SET digest = false`);
      const space = await buildSpace(club.id);
      await buildSpaceMembership(space, ada.id, { digest: true, at: new Date(now.getTime() - day) });
      await buildPost(space, { at: new Date(now.getTime() - hour) });
      await deps.db.run(sql`UPDATE clubs SET time_zone = ${zoneAtNoon(now)} WHERE id = ${club.id}`);
    });
    const digest = () => deps.db.manager.findOneByOrFail(SpaceDigest, { clubId: club.id });
    const run = async () => {
      expect((await beginDigests(deps.db, now)).begun).to.equal(1);
      const { id } = await digest();
      return environment().client.workflow.execute<typeof spaceDigest>('spaceDigest', {
        workflowId: workflowIdOf('spaceDigest', id),
        taskQueue: 'campaigns',
        args: [id],
      });
    };

    it('sends a refused mail again a minute later', async () => {
      mailbox.failNext({ at: 'rcpt', reply: 451, to: ada.email });
      expect(await run()).to.equal('sent');
      const [first = 0, second = 0] = handedOver;
      expect(first - now.getTime()).to.be.within(0, 5_000);
      expect(second - first).to.be.within(minute - 5_000, minute + 5_000);
      expect([handedOver.length, arrived()]).to.deep.equal([2, 1]);
    });

    it('ends without a mail at the end of the local day if the club’s mail limit is used up', async () => {
      await buildPlan(club.id, 'trial');
      await deps.db.run(sql`INSERT INTO club_bulk_days (club_id, day, mails)
        SELECT ${club.id}, (${now}::timestamptz AT TIME ZONE 'UTC')::date + later, 25 FROM generate_series(0, 1) AS later`);
      expect(await run()).to.equal('date_over');
      const { endsAt, endedAt } = await digest();
      expect(endsAt.getTime() - now.getTime()).to.be.within(11 * hour, 12 * hour);
      expect((endedAt?.getTime() ?? 0) - endsAt.getTime()).to.be.within(0, 5_000);
      expect(handedOver).to.deep.equal([]);
    });

    it('is started by the scheduled workflow', async () => {
      const execution = environment().client.workflow.execute<typeof beginning>('beginDigests', {
        workflowId: 'space-digests',
        taskQueue: 'upkeep',
      });
      expect(await execution).to.deep.equal({ begun: 1 });
      expect((await digest()).pages).to.equal(0);
    });
  });
});

/** Now it is about noon in this zone. */
function zoneAtNoon(at: Date): string {
  const hours = at.getUTCHours();
  return hours <= 12 ? `Etc/GMT-${12 - hours}` : `Etc/GMT+${hours - 12}`;
}
