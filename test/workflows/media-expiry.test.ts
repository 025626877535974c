/** Tests the expiry of videos that the plan does not include (MED-10), and the move of files to the other bucket (MED-25). */
import type { WorkflowHandle } from '@temporalio/client';
import { expect } from 'chai';
import { activities as all } from '../../activities/index.ts';
import { receiveEvent } from '../../domain/billing/events.ts';
import { planOfPriceBy, readEvent } from '../../domain/billing/events.policy.ts';
import { followVideoHosting, checkExpiry, requireVideoHosting } from '../../domain/media/erasure/expiry.ts';
import { removeMedia } from '../../domain/media/erasure/erasure.ts';
import { reserveMedia } from '../../domain/media/uploads/reservation.ts';
import { Media } from '../../entities/media/media.ts';
import { MediaMove } from '../../entities/media/media-move.ts';
import { TransactionalMail } from '../../entities/mail/transactional-mail.ts';
import { DomainError } from '../../platform/core/errors.ts';
import { newId, type Id } from '../../platform/core/ids.ts';
import { wake } from '../../platform/engine/wakes.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import { workflowIdOf } from '../../platform/engine/workflow-types.ts';
import { createWorkflowClient } from '../../worker/temporal/workflow-client.ts';
import { keptOf, summariesOf } from '../toolkit/assert/histories.ts';
import { wakesBy } from '../toolkit/assert/wakes.ts';
import { buildAutomation } from '../toolkit/builders/automations.ts';
import { buildPlan } from '../toolkit/builders/billing.ts';
import { billingEvents } from '../toolkit/builders/billing-events.ts';
import { buildClub, buildMember } from '../toolkit/builders/clubs.ts';
import { buildMedia } from '../toolkit/builders/media.ts';
import { mediaDeps } from '../toolkit/drive/media.ts';
import { movingDeps } from '../toolkit/drive/moving.ts';
import { inThisOrder, untilWaitingForLocks, withOpenTransaction } from '../toolkit/drive/races.ts';
import { until } from '../toolkit/drive/until.ts';
import { rowCounts, testDeps } from '../toolkit/stack/database.ts';
import { relayHere, type RelayHere } from '../toolkit/stack/relay-here.ts';
import { searchAttributes } from '../toolkit/stack/skipped-engine.ts';
import { useTimeSkipping } from '../toolkit/stack/time-skipping.ts';
import { runWorkerHere } from '../toolkit/stack/worker.ts';

const day = 86_400_000;
const later = (at: Date, days: number) => new Date(at.getTime() + days * day);

describe('the expiry of videos (MED-10) and the move of files', function () {
  this.timeout(60_000);
  const workers: { stop(): Promise<void> }[] = [];
  after('stop the worker, before its server', () => Promise.all(workers.map((worker) => worker.stop())));
  const environment = useTimeSkipping();
  let relay: RelayHere;
  before('start the worker', async () => {
    const { connection, nativeConnection } = environment();
    await connection.operatorService.addSearchAttributes({ namespace: 'default', searchAttributes });
    relay = relayHere(createWorkflowClient(nativeConnection, 'default'), ['mediaExpiry']);
    const activities = relay.carryingAfterEach(all.mediaExpiry({ ...(await testDeps()), ...(await mediaDeps()) }));
    workers.push(await runWorkerHere(nativeConnection, { taskQueue: 'upkeep', activities }));
  });

  let clubId: Id;
  let now: Date;
  let ownerId: Id;
  let adminId: Id;
  beforeEach(async () => {
    now = new Date(await environment().currentTimeMs());
    clubId = (await buildClub()).id;
    relay.serve(clubId);
    adminId = (await buildMember(clubId, 'admin')).id;
    await buildMember(clubId, 'editor');
    const { db } = await testDeps();
    const owner = await db.one<{ id: Id }>(
      sql`SELECT administrator_id AS id FROM memberships WHERE club_id = ${clubId} AND role = 'owner'`,
    );
    ownerId = owner?.id ?? '';
  });

  async function reserving(recording: boolean, mime = 'video/mp4'): Promise<string> {
    const deps = await mediaDeps(() => ({ signPut: async () => ({ url: 'https://files.example.com', headers: {} }) }));
    return reserveMedia(deps, clubId, { fileName: 'film.mp4', mime, sizeBytes: 9, recording }, now).then(
      ({ data }) => data.id,
      (error: unknown) => (error instanceof DomainError ? error.code : Promise.reject(error as Error)),
    );
  }
  const datesOf = async (id: Id) => {
    const { expiresAt, expiryLooksAt } = await fileOf(id);
    return { expiresAt, expiryLooksAt };
  };
  /** Creates a recording in a club with a plan without videos, and wakes the workflow of the recording. */
  async function recordingWithExpiry(at = now): Promise<Id> {
    await turnTo('starter', at);
    await follow();
    const { id } = await buildMedia(clubId, { video: true, bytes: 'a film' });
    const { db } = await testDeps();
    await db.transaction(async (tx) => {
      await tx.manager.update(Media, { id }, await requireVideoHosting(tx, clubId, { recording: true }, at));
      await wake(tx, 'mediaExpiry', [{ id, clubId }], at);
    });
    return id;
  }
  const fileOf = async (id: Id) => (await testDeps()).db.manager.findOneByOrFail(Media, { id });
  const warnings = async () => {
    const { db } = await testDeps();
    const mails = await db.manager.findBy(TransactionalMail, { clubId, template: 'media_expiring' });
    return mails.map(({ administratorId }) => String(administratorId)).toSorted();
  };
  const step = async (id: Id, at: Date) =>
    checkExpiry({ ...(await testDeps()), ...(await mediaDeps()) }, id, at.getTime());
  const runOf = (id: Id) => environment().client.workflow.getHandle(workflowIdOf('mediaExpiry', id));
  const customer = newId();
  let second = 1_790_000_000;
  /** The payment processor sends an event. */
  async function turnTo(plan: string, at = now): Promise<void> {
    const { db } = await testDeps();
    const about = { clubId, customer: `${customer}${clubId}`, subscription: `sub_${clubId}`, plan, at: (second += 1) };
    const event = readEvent(billingEvents.subscription('updated', about), planOfPriceBy([]));
    if (event) await receiveEvent(db, event, at);
  }
  const follow = async () => {
    let changed = 0;
    for (let more = true; more;) {
      const round = await followVideoHosting((await testDeps()).db, now);
      changed += round.changed;
      ({ more } = round);
    }
    return changed;
  };

  describe('a reservation', () => {
    it('is refused for a video without video hosting, except for a recording', async () => {
      await buildPlan(clubId, 'starter');
      const before = await rowCounts();
      expect(await reserving(false)).to.equal('feature_not_in_plan');
      expect(await rowCounts()).to.deep.equal(before);
      let id = '';
      const runs = await wakesBy(clubId, async () => (id = await reserving(true)));
      expect(runs).to.deep.equal([workflowIdOf('mediaExpiry', id)]);
      expect(await datesOf(id)).to.deep.equal({ expiresAt: later(now, 30), expiryLooksAt: later(now, 23) });
      for (const plan of ['professional', 'business'] as const) {
        await buildPlan(clubId, plan);
        for (const recording of [true, false]) {
          expect(await wakesBy(clubId, async () => (id = await reserving(recording)))).to.deep.equal([]);
          expect(await datesOf(id), plan).to.deep.equal({ expiresAt: null, expiryLooksAt: null });
        }
      }
      await buildPlan(clubId, 'trial');
      expect(await reserving(false)).to.equal('feature_not_in_plan');
    });

    it('is accepted for other files even without video hosting', async () => {
      await buildPlan(clubId, 'starter');
      expect(await datesOf(await reserving(false, 'application/pdf'))).to.deep.equal({
        expiresAt: null,
        expiryLooksAt: null,
      });
      expect(await reserving(true, 'application/pdf')).to.equal('invalid_request');
    });

    it('follows the new plan if the plan changes while a video is being reserved', async () => {
      await turnTo('professional');
      await follow();
      const { db } = await testDeps();
      const { id } = await buildMedia(clubId, { bytes: 'no film yet' });
      const reserve = () =>
        db.transaction(async (tx) => {
          const expiry = await requireVideoHosting(tx, clubId, { recording: false }, now);
          const video = { ...expiry, kind: 'video', provider: 'hostedvideo_stream' } as const;
          await tx.manager.update(Media, { id }, video);
        });
      await inThisOrder(sql`SELECT FROM clubs WHERE id = ${clubId} FOR UPDATE`, reserve, () => turnTo('starter'));
      await follow();
      expect((await fileOf(id)).expiresAt).to.deep.equal(later(now, 30));
    });
  });

  describe('the workflow that expires a video', () => {
    it('warns the owner and admins 7 days before, and then removes the file', async () => {
      const id = await recordingWithExpiry();
      await relay.carry();
      await environment().sleep(23 * day - 60_000);
      expect([await warnings(), (await fileOf(id)).removedAt]).to.deep.equal([[], null]);
      await environment().sleep(120_000);
      await until('the warning', { timeoutMs: 10_000 }, async () => (await warnings()).length === 2);
      expect(await warnings()).to.deep.equal([adminId, ownerId].toSorted());
      const { expiresAt } = await fileOf(id);
      expect(expiresAt?.getTime()).to.be.within(later(now, 30).getTime(), later(now, 30).getTime() + 60_000);
      await environment().sleep(7 * day - 180_000);
      expect((await fileOf(id)).removedAt).to.equal(null);

      expect(await runOf(id).result()).to.equal('removed');
      const { removedAt, erasedAt, objectKey } = await fileOf(id);
      expect(removedAt?.getTime()).to.be.within(later(now, 30).getTime(), later(now, 30).getTime() + 120_000);
      expect([erasedAt?.getTime(), objectKey]).to.deep.equal([removedAt?.getTime(), null]);
      expect(await warnings()).to.have.length(2);
      expect(await keptOf(runOf(id))).to.not.include('film');
    });

    it('ends with the outcome `kept` when the plan gains video hosting', async () => {
      const id = await recordingWithExpiry();
      await relay.carry();
      await environment().sleep(25 * day);
      await turnTo('professional');
      expect(await follow()).to.equal(1);
      await relay.carry();
      expect(await runOf(id).result()).to.equal('kept');
      expect(await fileOf(id)).to.include({ expiresAt: null, expiryLooksAt: null, removedAt: null });
    });

    it('keeps an expired video if the plan gained video hosting just before', async () => {
      const id = await recordingWithExpiry();
      await step(id, later(now, 23));
      await turnTo('professional');
      expect(await step(id, later(now, 30))).to.deep.equal({ done: true, outcome: 'kept' });
      expect(await fileOf(id)).to.include({ expiresAt: null, expiryLooksAt: null, removedAt: null });
    });

    it('keeps a video if the plan gains video hosting during the removal', async () => {
      const id = await recordingWithExpiry();
      const at = later(now, 30);
      await step(id, later(now, 23));
      const gain = inThisOrder(
        sql`SELECT FROM clubs WHERE id = ${clubId} FOR UPDATE`,
        () => turnTo('professional'),
        () => step(id, at),
      );
      expect((await gain)[1]).to.deep.equal({ done: false, at: at.getTime(), waitingFor: 'removal' });
      expect(await step(id, at)).to.deep.equal({ done: true, outcome: 'kept' });
      expect(await fileOf(id)).to.include({ expiresAt: null, removedAt: null, erasesAt: null });
    });

    it('postpones the removal by a day while a published automation uses the video', async () => {
      const automationId = await buildAutomation(clubId, { steps: [{ id: 'end', kind: 'exit' }] }, now);
      const id = await recordingWithExpiry();
      await step(id, later(now, 23));
      const { db } = await testDeps();
      await db.run(sql`INSERT INTO media_uses (media_id, kind, place_id)
        SELECT ${id}, 'automation_version', published_id FROM automations WHERE id = ${automationId}`);
      const at = later(now, 31);
      expect(await step(id, later(now, 30))).to.deep.equal({ done: false, at: at.getTime(), waitingFor: 'removal' });
      expect(await fileOf(id)).to.deep.include({ removedAt: null, expiryLooksAt: at });
      await db.run(sql`UPDATE automations SET status = 'archived' WHERE id = ${automationId}`);
      expect(await step(id, at)).to.deep.equal({ done: true, outcome: 'removed' });
    });

    it('ends with the outcome `removed` if the file was already removed', async () => {
      const id = await recordingWithExpiry();
      const { db } = await testDeps();
      await db.manager.update(Media, { id }, { removedAt: now, title: '' });
      expect(await step(id, now)).to.deep.equal({ done: true, outcome: 'removed' });
      expect(await step(newId(), now)).to.deep.equal({ done: true, outcome: 'removed' });
    });

    it('sends each administrator one mail a day for all files', async () => {
      const [first, second_, third] = [
        await recordingWithExpiry(),
        await recordingWithExpiry(),
        await recordingWithExpiry(later(now, 2)),
      ];
      const at = later(now, 23);
      await Promise.all([step(first, at), step(second_, at)]);
      expect(await warnings()).to.deep.equal([adminId, ownerId].toSorted());
      await step(third, later(at, 2));
      expect(await warnings()).to.have.length(4);
      await step(first, at);
      expect(await warnings()).to.have.length(4);
    });

    it('waits a whole week after the warning, even if the warning was late', async () => {
      const id = await recordingWithExpiry();
      const late = later(now, 29);
      const waiting = { done: false, at: later(late, 7).getTime(), waitingFor: 'removal' };
      expect(await step(id, late)).to.deep.equal(waiting);
      expect((await fileOf(id)).expiresAt).to.deep.equal(later(late, 7));
      expect(await step(id, later(now, 31))).to.deep.equal(waiting);
      expect(await step(id, later(late, 7))).to.deep.equal({ done: true, outcome: 'removed' });
    });
  });

  describe('a plan that loses the feature', () => {
    it('gives an expiry date to every hosted video of the library', async () => {
      await turnTo('professional');
      await follow();
      const videos = [await buildMedia(clubId, { video: true }), await buildMedia(clubId, { video: true })];
      const other = await buildMedia(clubId, { bytes: 'a text' });
      const elsewhere = await buildMedia((await buildClub()).id, { video: true });
      await turnTo('starter');
      const runs = videos.map(({ id }) => workflowIdOf('mediaExpiry', id)).toSorted();
      expect(await wakesBy(clubId, follow)).to.deep.equal(runs);
      expect(await wakesBy(clubId, follow)).to.deep.equal([]);
      for (const { id } of videos)
        expect(await fileOf(id)).to.deep.include({ expiresAt: later(now, 30), expiryLooksAt: later(now, 23) });
      for (const { id } of [other, elsewhere]) expect(await fileOf(id)).to.include({ expiresAt: null });

      await turnTo('business');
      expect(await wakesBy(clubId, follow)).to.deep.equal(runs);
      for (const { id } of videos) expect(await fileOf(id)).to.include({ expiresAt: null, expiryLooksAt: null });
    });

    it('does not block further changes of the plan (ENG-6)', async () => {
      await turnTo('professional');
      await follow();
      const { id } = await buildMedia(clubId, { video: true });
      await turnTo('starter');
      let following: Promise<unknown> = Promise.resolve();
      await withOpenTransaction(
        (tx) => tx.run(sql`SELECT FROM media WHERE id = ${id} FOR UPDATE`),
        async () => {
          following = follow();
          await untilWaitingForLocks(1);
          await turnTo('professional');
        },
      );
      await following;
      await follow();
      expect(await fileOf(id)).to.include({ expiresAt: null, expiryLooksAt: null });
    });

    it('gives an expiry date to a video from between two changes of the plan', async () => {
      await turnTo('professional');
      await follow();
      const { id } = await buildMedia(clubId, { video: true });
      await turnTo('starter');
      let following: Promise<unknown> = Promise.resolve();
      let addedId = '';
      await withOpenTransaction(
        (tx) => tx.run(sql`SELECT FROM media WHERE id = ${id} FOR UPDATE`),
        async () => {
          following = followVideoHosting((await testDeps()).db, now);
          await untilWaitingForLocks(1);
          await turnTo('professional');
          addedId = (await buildMedia(clubId, { video: true })).id;
          await turnTo('starter');
        },
      );
      await following;
      await follow();
      for (const video of [id, addedId]) expect((await fileOf(video)).expiresAt).to.deep.equal(later(now, 30));
    });

    it('does not change the expiry date of a recording', async () => {
      const id = await recordingWithExpiry();
      await turnTo('professional');
      await turnTo('starter', later(now, 5));
      await follow();
      expect((await fileOf(id)).expiresAt).to.deep.equal(later(now, 30));
    });
  });

  describe('the move of a file to the other bucket (MED-25)', () => {
    before('start a worker for moves', async () => {
      const activities = all.mediaMove({ moves: await movingDeps() });
      workers.push(await runWorkerHere(environment().nativeConnection, { taskQueue: 'moves', activities }));
    });
    const secret = `Quixotic ${newId()}`;
    async function moving(): Promise<{ id: Id; handle: WorkflowHandle }> {
      const { id } = await buildMedia(clubId, { title: secret, bytes: 'How to tie it.' });
      const { db } = await testDeps();
      await db.manager.update(Media, { id }, { looksAt: now });
      await db.manager.insert(MediaMove, { id, clubId, visibility: 'public', looksAt: now, createdAt: now });
      const run = { workflowId: workflowIdOf('mediaMove', id), taskQueue: 'moves', args: [id] };
      return { id, handle: await environment().client.workflow.start('mediaMove', run) };
    }
    /** The run has checked the file once, and waits for the end of the processing. */
    const untilItWaits = (id: Id) =>
      until('its first look', { timeoutMs: 10_000 }, async () => {
        const { looksAt, leaseUntil } = await (await testDeps()).db.manager.findOneByOrFail(MediaMove, { id });
        return leaseUntil === null && looksAt > now;
      });

    it('waits in a timer while the file is processed', async () => {
      const { id, handle } = await moving();
      await untilItWaits(id);
      await (await testDeps()).db.manager.update(Media, { id }, { looksAt: null });
      expect(await handle.result()).to.equal('public');
      expect(await fileOf(id)).to.include({ visibility: 'public' });
      const { run, timers } = await summariesOf(handle);
      expect([run, timers[0]]).to.deep.equal([undefined, 'another look in about 10 min']);
      expect(await keptOf(handle)).to.not.include('Quixotic');
    });

    it('ends as `private` if the request is withdrawn, and as `gone` if the file is removed', async () => {
      for (const [outcome, change] of [
        ['private', { visibility: 'private' }],
        ['gone', undefined],
      ] as const) {
        const { id, handle } = await moving();
        await untilItWaits(id);
        const { db } = await testDeps();
        if (change) await db.manager.update(MediaMove, { id }, change);
        else await removeMedia(await mediaDeps(), clubId, id, now);
        await handle.signal('lookAgain');
        expect(await handle.result()).to.equal(outcome);
        expect(await db.manager.countBy(MediaMove, { id })).to.equal(0);
      }
    });
  });
});
