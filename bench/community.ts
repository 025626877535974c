/**
 * `npm run bench -- community [zip | lists | digests | bookings]`: an archive beside bare streams, lists at two sizes, daily mails, and
 * bookings beside bare inserts.
 */
import { measureBookings } from './community/bookings.ts';
import { measureDigests } from './community/digests.ts';
import { measureLists } from './community/lists.ts';
import { measureSessionLists } from './community/session-lists.ts';
import { measureZip } from './community/zip.ts';

export const communityMeasurements = ['zip', 'lists', 'digests', 'bookings'] as const;
type Measurement = (typeof communityMeasurements)[number];

export async function benchCommunity(selection: readonly string[]): Promise<void> {
  const is = (measurement: Measurement) => selection.includes(measurement);
  if (is('zip')) await measureZip();
  if (is('lists')) {
    await measureLists();
    await measureSessionLists();
  }
  if (is('digests')) await measureDigests();
  if (is('bookings')) await measureBookings();
}
