/** The scenario of clubs with videos and a plan without videos: the service warns the clubs and removes the videos, while plans change. */
import { mediaUses } from '../../../../domain/contexts.ts';
import { receiveEvent } from '../../../../domain/billing/events.ts';
import { planOfPriceBy, readEvent } from '../../../../domain/billing/events.policy.ts';
import { eraseDue, removeMedia } from '../../../../domain/media/erasure/erasure.ts';
import { followVideoHosting } from '../../../../domain/media/erasure/expiry.ts';
import { eraseLeftovers } from '../../../../domain/media/erasure/leftovers.ts';
import { expiryRules } from '../../../../domain/media/media.policy.ts';
import { reserveMedia } from '../../../../domain/media/uploads/reservation.ts';
import { newId, type Id } from '../../../../platform/core/ids.ts';
import { wake } from '../../../../platform/engine/wakes.ts';
import { billingEvents } from '../../../toolkit/builders/billing-events.ts';
import type { Simulation } from '../simulation.ts';
import { beginning, mustHold, type Command, type Stage } from '../stage.ts';
import { addClub, type Footing } from './ground.ts';
import { addStoredFile } from './media-moves.ts';
import { expectNamed, expectNothingElse, expectReadable, expectStorageSums, simulatedStore } from './store.ts';

const dayMs = 86_400_000;
/** The largest error of a worker's clock, plus the longest wait of a run. */
const inaccuracyMs = 400_000;

interface Video {
  id: Id;
  removedAt: Date | null;
  expiresAt: Date | null;
  warnedAt: Date | null;
}

export async function mediaExpiry(sim: Simulation, ground: Footing): Promise<Stage> {
  const { vault } = ground;
  const now = () => new Date(sim.time.now);
  const clubId = await addClub(sim, ground);
  await sim.postgres.ask(`UPDATE clubs SET opening_plan = 'trial' WHERE id = $1`, [clubId]);
  const administrators = [await addAdministrator(), await addAdministrator()];
  const store = simulatedStore(sim);
  const deps = { db: sim.db, storage: store.storage, mediaUses };
  const videos = [await addVideo(), await addVideo(), await addVideo(), await addVideo()];
  const removed = new Set<Id>();
  const mailed = new Set<Id>();
  /**
   * The files that must stay, because they existed when the API confirmed a plan that hosts videos. A request for a different plan empties
   * the set.
   */
  let hosted = new Set<Id>();
  let isHosting = false;
  /** The number of requested changes of the plan, and the number of such requests without an answer. */
  let [changes, unanswered] = [0, 0];
  let seconds = Math.floor(sim.time.now / 1_000);

  async function addAdministrator(): Promise<Id> {
    const id = newId();
    await sim.postgres.ask(
      `WITH one AS (INSERT INTO administrators (id, name, email, verified_at, created_at) VALUES ($1, 'Admin', $2, $3, $3))
       INSERT INTO memberships (club_id, administrator_id, role, joined_at) VALUES ($4, $1, 'admin', $3)`,
      [id, `admin-${id}@example.com`, now(), clubId],
    );
    return id;
  }

  /** Adds a video to a club without video hosting. The warning about the video or its removal is due. */
  async function addVideo(): Promise<Id> {
    const id = newId();
    await addStoredFile(sim, store, { id, clubId, content: Buffer.alloc(100), mime: 'video/mp4', isProcessed: true });
    const looksAt = new Date(sim.time.now + sim.decisions.pick([0, 2_000, 60_000, dayMs / 2, 3 * dayMs]));
    const isWarned = sim.decisions.happens(2);
    const expiresAt = isWarned ? looksAt : new Date(looksAt.getTime() + expiryRules.warningMs);
    const warnedAt = isWarned ? new Date(looksAt.getTime() - expiryRules.warningMs) : null;
    await sim.postgres.ask(
      `UPDATE media SET expires_at = $2, expiry_looks_at = $3, expiry_warned_at = $4 WHERE id = $1`,
      [id, expiresAt, looksAt, warnedAt],
    );
    await sim.db.transaction((tx) => wake(tx, 'mediaExpiry', [{ id, clubId }], now()));
    return id;
  }

  const plan = (name: 'professional' | 'starter'): Command => ({
    label: `the plan becomes ${name}`,
    async run() {
      const about = { clubId, customer: `cus_${clubId}`, subscription: `sub_${clubId}`, plan: name, at: ++seconds };
      const event = readEvent(billingEvents.subscription('updated', about), planOfPriceBy([]));
      if (!event) throw new Error('The billing event is empty');
      const change = ++changes;
      hosted = new Set();
      unanswered++;
      await receiveEvent(sim.db, event, now());
      unanswered--;
      if (change === changes) isHosting = name === 'professional';
      if (change !== changes || unanswered > 0 || name === 'starter') return;
      const standing = await readVideos();
      if (change === changes)
        hosted = new Set(standing.filter(({ removedAt }) => removedAt === null).map(({ id }) => id));
    },
  });

  const readVideos = () =>
    sim.postgres.ask<Video>(
      `SELECT id, removed_at AS "removedAt", expires_at AS "expiresAt", expiry_warned_at AS "warnedAt" FROM media ORDER BY id`,
    );

  const record: Command = {
    label: 'a recording is reserved',
    async run() {
      const recording = { fileName: 'lesson.mp4', mime: 'video/mp4', sizeBytes: 50, recording: true };
      await reserveMedia({ ...deps, vault, filesUrl: 'https://files.test' }, clubId, recording, now());
    },
  };

  const upkeep: Command = {
    label: 'upkeep',
    async run() {
      await followVideoHosting(sim.db, now());
      await eraseDue(deps, now());
      await eraseLeftovers(deps, now());
    },
  };

  async function sendMail({ messageKey }: { messageKey: Id }): Promise<void> {
    await sim.outside(`mail ${messageKey}`, () => void mailed.add(messageKey));
  }

  return {
    types: ['mediaExpiry', 'transactionalMail'],
    horizonMs: 40 * dayMs,
    depsFor: (db) => ({
      db,
      vault,
      storage: store.storage,
      mails: {
        db,
        vault,
        sendMail,
        links: {
          classroomUrl: 'https://{slug}.test',
          dashboardUrl: 'https://dashboard.test',
          publicUrl: 'https://api.example.com',
        },
        warmUp: [100],
        onOutcome: () => {},
      },
    }),
    command(decisions) {
      const which = decisions.choose(12);
      if (which < 3) return plan('professional');
      if (which < 5) return plan('starter');
      if (which < 7) return record;
      if (which === 7) return upkeep;
      if (which === 8) {
        const id = decisions.pick(videos);
        return {
          label: `remove ${id}`,
          async run() {
            removed.add(id);
            await removeMedia(deps, clubId, id, now());
          },
        };
      }
      return store.turn((['answers', 'is slow', 'is away'] as const)[which - 9] ?? 'answers');
    },
    calm: () => [store.turn('answers'), upkeep],
    async atRest() {
      await expectNamed(sim, store);
      await expectReadable(sim, store);
      for (const { id, removedAt } of await readVideos()) {
        mustHold(
          !hosted.has(id) || removedAt === null || removed.has(id),
          'a hosting plan keeps its videos',
          () => `video ${id} has gone, and the plan hosts it`,
        );
      }
    },
    async atEnd() {
      const found = await readVideos();
      expectWarned(found);
      if (unanswered === 0) expectPlan(found);
      await expectMails();
      await expectStorageSums(sim);
      const later = new Date(sim.time.now + 2 * dayMs);
      await eraseDue(deps, later);
      await eraseLeftovers(deps, later);
      await expectNothingElse(sim, store);
    },
  };

  /** Expects that videos are removed only seven days after their warning, unless a command removes them. */
  function expectWarned(found: readonly Video[]): void {
    for (const { id, removedAt, warnedAt } of found) {
      if (removedAt === null || removed.has(id)) continue;
      const warnedFor = warnedAt && removedAt.getTime() - warnedAt.getTime();
      mustHold(
        warnedFor !== null && warnedFor >= expiryRules.warningMs - inaccuracyMs,
        'a warning precedes each removal of a video',
        () =>
          `video ${id} has gone ${warnedFor === null ? 'unannounced' : `${warnedFor / dayMs} days after its warning`}`,
      );
    }
  }

  /** Expects that all videos stay if the plan hosts videos, and that all videos are removed if it does not. */
  function expectPlan(found: readonly Video[]): void {
    for (const { id, removedAt, expiresAt } of found) {
      if (removedAt !== null) continue;
      mustHold(
        isHosting && expiresAt === null,
        'each video follows the plan',
        () =>
          `video ${id} ${expiresAt === null ? 'stays' : 'is to go'}, and the plan hosts ${isHosting ? '' : 'no '}videos`,
      );
    }
  }

  async function expectMails(): Promise<void> {
    const mails = await sim.postgres.ask<{ id: Id; administratorId: Id; status: string; createdAt: Date }>(
      `SELECT id, administrator_id AS "administratorId", status, created_at AS "createdAt" FROM transactional_mails ORDER BY created_at, id`,
    );
    for (const { id, status } of mails)
      mustHold(status === 'sent' && mailed.has(id), 'every mail is sent', () => `mail ${id} is ${status}`);
    const warned = await sim.postgres.ask<{ at: Date }>(
      'SELECT expiry_warned_at AS at FROM media WHERE expiry_warned_at IS NOT NULL AND expiry_warned_at >= $1',
      [new Date(beginning)],
    );
    for (const administratorId of administrators) {
      const times = mails
        .filter((mail) => mail.administratorId === administratorId)
        .map(({ createdAt }) => createdAt.getTime());
      for (const { at } of warned) {
        mustHold(
          times.some((time) => Math.abs(at.getTime() - time) <= expiryRules.oneWarningMs + inaccuracyMs),
          'a warning precedes each removal of a video',
          () => `${administratorId} got no mail about the warning of ${at.toISOString()}`,
        );
      }
      if (changes > 0 || sim.slow || removed.size > 0) continue;
      const isOften = times.some(
        (time, at) => at > 0 && time - (times[at - 1] ?? 0) < expiryRules.oneWarningMs - inaccuracyMs,
      );
      mustHold(!isOften, 'one mail reports all warnings of a day', () => `${administratorId} got two mails in a day`);
    }
  }
}
