/** Definitions of versions, which never change, read once in a process. */
import { AutomationVersion } from '../../../entities/automations/automation-version.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { Queries } from '../../../platform/infra/postgres/database.ts';
import { languageOfToday, placedSteps, type Definition, type PlacedStep } from '../definition.policy.ts';

export interface ReadVersion {
  id: Id;
  number: number;
  language: number;
  definition: Definition;
  steps: ReadonlyMap<string, PlacedStep>;
}

/** The largest definition has 256 KB, so these are at most some 100 MB, and a few in practice. */
const kept = 400;
const cache = new Map<Id, ReadVersion>();

/** @throws Error where there is no such version: runs refer to theirs */
export async function readVersion(db: Queries, versionId: Id): Promise<ReadVersion> {
  const known = cache.get(versionId);
  if (known) return known;
  const {
    number,
    language,
    definition: stored,
  } = await db.manager.findOneByOrFail(AutomationVersion, {
    id: versionId,
  });
  const version = readDefinition({ id: versionId, number, language, definition: stored as Definition });
  const [oldest] = cache.keys();
  if (cache.size >= kept && oldest !== undefined) cache.delete(oldest);
  cache.set(versionId, version);
  return version;
}

/** @param number 0 for a draft @returns the definition with its steps by id; those of another language are not read, and its runs fail */
export function readDefinition({
  language = languageOfToday,
  ...version
}: Pick<ReadVersion, 'id' | 'number' | 'definition'> & { language?: number }): ReadVersion {
  const placed = language === languageOfToday ? placedSteps(version.definition) : [];
  return { ...version, language, steps: new Map(placed.map((one) => [one.step.id, one])) };
}
