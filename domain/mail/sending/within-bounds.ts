/** Bulk mail within what a club may send: its rate (CAMP-7), and its mails of a day (CAMP-41). */
import type { Id } from '../../../platform/core/ids.ts';
import type { Database } from '../../../platform/infra/postgres/database.ts';
import type { Vault } from '../../../platform/infra/keys/vault.ts';
import { returnAllowance, takeAllowance } from '../bounds/allowance.ts';
import { returnPlacesOfDay, takePlacesOfDay } from '../bounds/bulk-days.ts';
import { fromOf, type From } from '../domains/from.ts';
import type { SentPage } from './hand-over.ts';
import { dayOf, type WarmUps } from '../bounds/pace.policy.ts';

interface BoundsDeps {
  db: Database;
  vault: Vault;
  fromAddress: string;
  warmUps: WarmUps;
}

/** Why nothing goes now, and until when. */
interface Held {
  waitingFor: 'rate' | 'day';
  until: Date;
}

/**
 * Takes as many mails as the club may send now, up to `wanted`, and gives back those that were not handed over.
 * @param send hands over `most` mails at most
 */
export async function sendWithinBounds(
  deps: BoundsDeps,
  clubId: Id,
  wanted: number,
  now: Date,
  send: (from: From, most: number) => Promise<SentPage>,
): Promise<SentPage | Held> {
  const { db, warmUps } = deps;
  const { granted, nextInMs } = await takeAllowance(db, clubId, wanted, now);
  if (granted === 0) return { waitingFor: 'rate', until: new Date(now.getTime() + Math.max(1_000, nextInMs)) };
  const from = await fromOf(deps, clubId, deps.fromAddress);
  const { domainProvenAt } = from;
  const places = await takePlacesOfDay(db, clubId, { wanted: granted, domainProvenAt, warmUps }, now);
  if (places === 0) {
    await returnAllowance(db, clubId, granted);
    return { waitingFor: 'day', until: dayOf(now, 1) };
  }
  const page = await send(from, places);
  await returnAllowance(db, clubId, granted - page.handedOver);
  await returnPlacesOfDay(db, clubId, places - page.handedOver, now);
  return page;
}
