/** Kills a worker at each failpoint while it sends a mail of a campaign or digest. */
import { expect } from 'chai';
import type { Mailbox } from '../../dev/mailbox/mailbox.ts';
import { scheduleCampaign } from '../../domain/campaigns/states.ts';
import { beginDigests } from '../../domain/community/digests/beginning.ts';
import { SpaceDigest } from '../../entities/community/space-digest.ts';
import { Mail } from '../../entities/mail/mail.ts';
import { workflowIdOf } from '../../platform/engine/workflow-types.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import { buildCampaign } from '../toolkit/builders/campaigns.ts';
import { buildPost, buildSpace, buildSpaceMembership, buildWritingClub } from '../toolkit/builders/community.ts';
import { buildStudent, type TestStudent } from '../toolkit/builders/clubs.ts';
import { until } from '../toolkit/drive/until.ts';
import { testDeps } from '../toolkit/stack/database.ts';
import { testStack } from '../toolkit/stack/stack.ts';
import { useTemporal, useWorkerProcesses } from '../toolkit/stack/worker.ts';

const second = 1_000;
/** In this order, a later worker cannot continue the mail of an earlier worker. */
const places = ['mail_recorded', 'mail_handed_over', 'mail_claimed'] as const;
type Place = (typeof places)[number];

interface Scene {
  campaignId: string;
  student: TestStudent;
  signal: NodeJS.Signals | null;
  remains: Mail;
}

describe('a mail of a campaign or digest after its worker was killed', function () {
  this.timeout(30 * second);
  const startWorker = useWorkerProcesses('campaigns');
  const temporal = useTemporal();
  const scenes = {} as Record<Place, Scene>;
  let digest: { id: string; student: TestStudent; signal: NodeJS.Signals | null };
  let mailbox: Mailbox;

  before('kill four workers, and start a fifth', async function () {
    this.timeout(180 * second);
    const stack = await testStack();
    if (!stack.mailbox) throw new Error('The stack has no mailbox, which these tests read.');
    mailbox = stack.mailbox;
    const { db } = await testDeps();
    for (const place of places) scenes[place] = await killedAt(place);
    digest = await digestKilled();
    await db.run(sql`UPDATE mails SET lease_until = clock_timestamp() WHERE lease_until IS NOT NULL`);
    await db.run(sql`UPDATE wakes SET lease_until = clock_timestamp() WHERE lease_until IS NOT NULL`);
    await startWorker();
    // Temporal gives an activity to another worker after 10 s without a heartbeat.
    await until('the end of all', { timeoutMs: 90 * second }, async () => {
      const open = await db.rows(
        sql`SELECT FROM campaigns WHERE status <> 'sent' UNION ALL SELECT FROM space_digests WHERE ended_at IS NULL`,
      );
      return open.length === 0;
    });
  });

  async function killedAt(place: Place): Promise<Scene> {
    const deps = await testDeps();
    const { club, campaignId } = await buildCampaign(new Date());
    const student = await buildStudent(club.id);
    const worker = await startWorker({ FAILPOINT: place });
    await scheduleCampaign(deps, club.id, campaignId, undefined, new Date());
    const { signal } = await worker.exited;
    return { campaignId, student, signal, remains: await rowOf(campaignId) };
  }

  async function digestKilled(): Promise<typeof digest> {
    const { db } = await testDeps();
    const now = new Date();
    const { id: clubId } = await buildWritingClub(now);
    const student = await buildStudent(clubId);
    const space = await buildSpace(clubId);
    await buildSpaceMembership(space, student.id, { digest: true, at: new Date(now.getTime() - 3_600_000) });
    await buildPost(space, { at: new Date(now.getTime() - 600_000) });
    // A time zone in which it is now about noon.
    const hour = now.getUTCHours();
    const zone = hour <= 12 ? `Etc/GMT-${12 - hour}` : `Etc/GMT+${hour - 12}`;
    await db.run(sql`UPDATE clubs SET time_zone = ${zone} WHERE id = ${clubId}`);
    const worker = await startWorker({ FAILPOINT: 'mail_handed_over' });
    await beginDigests(db, now);
    const { signal } = await worker.exited;
    const { id } = await db.manager.findOneByOrFail(SpaceDigest, { clubId });
    return { id, student, signal };
  }

  async function rowOf(campaignId: string): Promise<Mail> {
    return (await testDeps()).db.manager.findOneByOrFail(Mail, { campaignId });
  }

  for (const [place, statusAfterKill, ended, copies] of [
    ['mail_claimed', 'sending', { status: 'failed', lastError: 'outcome_unknown' }, 0],
    ['mail_handed_over', 'sending', { status: 'failed', lastError: 'outcome_unknown' }, 1],
    ['mail_recorded', 'sent', { status: 'sent', lastError: null }, 1],
  ] as const) {
    it(`ends as ${ended.status} after a kill at ${place}, and arrives ${copies} times`, async () => {
      const { campaignId, student, signal, remains } = scenes[place];
      expect([signal, remains.status, remains.fence]).to.deep.equal(['SIGKILL', statusAfterKill, 1]);
      expect(await rowOf(campaignId)).to.include({ ...ended, fence: 1, leaseUntil: null });
      expect(mailbox.summaries({ to: student.email })).to.have.length(copies);
    });
  }

  it('has an unknown outcome after a kill at mail_handed_over of a digest', async () => {
    const { id, student, signal } = digest;
    const row = await (await testDeps()).db.manager.findOneByOrFail(Mail, { digestId: id });
    expect([signal, row.status, row.lastError, row.fence]).to.deep.equal(['SIGKILL', 'failed', 'outcome_unknown', 1]);
    expect(mailbox.summaries({ to: student.email })).to.have.length(1);
    expect(await temporal().workflow.getHandle(workflowIdOf('spaceDigest', id)).result()).to.equal('sent');
  });

  it('lets the run of every campaign end as sent', async () => {
    const results = places.map((place) =>
      temporal().workflow.getHandle(workflowIdOf('campaignRun', scenes[place].campaignId)).result(),
    );
    expect(await Promise.all(results)).to.deep.equal(['sent', 'sent', 'sent']);
  });
});
