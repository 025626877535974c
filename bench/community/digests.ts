/**
 * Daily mails of spaces through a worker to a mail server that accepts everything: a thousand, and ten thousand. The time for each mail
 * must not grow with their number.
 */
import { beginDigests } from '../../domain/community/digests/beginning.ts';
import { SpaceDigest } from '../../entities/community/space-digest.ts';
import { newId, type Id } from '../../platform/core/ids.ts';
import { clubWithoutRate, haveStudents, onCampaignScene, type Scene } from '../campaigns/scene.ts';
import { median, progress, report, waitUntil } from '../support.ts';

const [few, many] = [1_000, 10_000];
const rounds = 3;
/** A mail shows half of all these posts. */
const [spaces, posts] = [3, 10];
const limitMs = 10 * 60_000;

export async function measureDigests(): Promise<void> {
  await onCampaignScene(async (scene) => {
    await oneDigest(scene, few); // warms up
    const took: Record<'few' | 'many', number[]> = { few: [], many: [] };
    for (let round = 1; round <= rounds; round++) {
      took.few.push((await oneDigest(scene, few)) / few);
      took.many.push((await oneDigest(scene, many)) / many);
      progress(`round ${round}: ms a mail ${took.few.at(-1)?.toFixed(2)} and ${took.many.at(-1)?.toFixed(2)}`);
    }
    const [of, ofMany] = [median(took.few), median(took.many)];
    report(`ms of a digest's mail, of ${many}`, { value: ofMany, [`of ${few}`]: of, ratio: ofMany / of });
  });
}

/** @returns milliseconds */
async function oneDigest({ db, state, forget }: Scene, students: number): Promise<number> {
  const clubId = await clubWithoutRate(db);
  await haveStudents(db.source, clubId, students);
  await haveNews({ db }, clubId);
  await forget();
  const now = new Date();
  await db.source.query(`UPDATE clubs SET time_zone = $2 WHERE id = $1`, [clubId, zoneAtNoon(now)]);
  const started = performance.now();
  await beginDigests(db, now);
  const isEnded = async () => (await digestOf({ db }, clubId)).endedAt !== null;
  await waitUntil('the digest ends', isEnded, { timeoutMs: limitMs, everyMs: 50 });
  const took = performance.now() - started;
  const { mailCount } = await state();
  if (mailCount !== students) throw new Error(`The mail server got ${mailCount} of ${students} mails.`);
  return took;
}

/** In this zone it is about noon, so the date does not change during the measurement. */
function zoneAtNoon(now: Date): string {
  const hour = now.getUTCHours();
  return hour <= 12 ? `Etc/GMT-${12 - hour}` : `Etc/GMT+${hour - 12}`;
}

const digestOf = ({ db }: Pick<Scene, 'db'>, clubId: Id) => db.manager.findOneByOrFail(SpaceDigest, { clubId });

async function haveNews({ db }: Pick<Scene, 'db'>, clubId: Id): Promise<void> {
  for (let space = 0; space < spaces; space++) {
    const id = newId();
    await db.source.query(
      `INSERT INTO community_spaces (id, club_id, public_id, name, position, created_at, updated_at) VALUES ($1, $2, $3, 'The Quay', $4, now(), now())`,
      [id, clubId, `quay-${space}`, space],
    );
    await db.source.query(
      `INSERT INTO community_memberships (space_id, student_id, club_id, joined_at, read_at, digest, counted)
       SELECT $1, id, club_id, now() - interval '1 day', now() - interval '1 day', true, true FROM students WHERE club_id = $2`,
      [id, clubId],
    );
    await db.source.query(
      `INSERT INTO community_posts (id, club_id, space_id, public_id, title, body, created_at)
       SELECT gen_random_uuid(), $2, $1, gen_random_uuid(), 'The bowline holds', repeat('Some **words** about boats, knots and the wind. ', 20),
              now() - interval '1 hour' - n * interval '1 minute' FROM generate_series(1, ${posts}) AS n`,
      [id, clubId],
    );
  }
  await db.source.query('VACUUM ANALYZE community_memberships, community_posts, community_spaces');
}
