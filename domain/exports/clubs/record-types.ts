/** The record types of an export: for each schema of the contract, the walk through the records of a club (EXP-12). */
import { community } from './types/community.ts';
import { learning } from './types/learning.ts';
import { programs } from './types/mail-and-programs.ts';
import { people, sales, settings } from './types/settings-and-people.ts';
import type { RecordType } from './record-type.ts';

/** The types in the order in which a new club could be built from them. */
export const recordTypes: readonly RecordType[] = [
  ...settings,
  ...people,
  ...learning,
  ...sales,
  ...community,
  ...programs,
];
