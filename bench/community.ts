/**
 * `npm run bench -- community [zip | lists | digests]`: an archive beside bare streams; spaces, posts and comments at two sizes; and daily
 * mails, a thousand and ten thousand.
 */
import { measureDigests } from './community/digests.ts';
import { measureLists } from './community/lists.ts';
import { measureZip } from './community/zip.ts';

export const communityMeasurements = ['zip', 'lists', 'digests'] as const;
type Measurement = (typeof communityMeasurements)[number];

export async function benchCommunity(wanted: readonly string[]): Promise<void> {
  const is = (measurement: Measurement) => wanted.includes(measurement);
  if (is('zip')) await measureZip();
  if (is('lists')) await measureLists();
  if (is('digests')) await measureDigests();
}
