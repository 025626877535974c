/** Caches the definitions of versions, which never change. */
import { AutomationVersion } from '../../../entities/automations/automation-version.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { Queries } from '../../../platform/infra/postgres/database.ts';
import { languageOfToday, placedSteps, type Definition, type PlacedStep } from '../versions/definition.policy.ts';

export interface ReadVersion {
  id: Id;
  number: number;
  language: number;
  definition: Definition;
  steps: ReadonlyMap<string, PlacedStep>;
}

/** A definition has at most 256 KB, so the cache has at most about 100 MB, and usually a few MB. */
const maxVersions = 400;
const cache = new Map<Id, ReadVersion>();

/** @throws Error if the version does not exist. Each run refers to an existing version, so this is a defect */
export async function readVersion(db: Queries, versionId: Id): Promise<ReadVersion> {
  const cachedVersion = cache.get(versionId);
  if (cachedVersion) return cachedVersion;
  const {
    number,
    language,
    definition: stored,
  } = await db.manager.findOneByOrFail(AutomationVersion, {
    id: versionId,
  });
  const version = readDefinition({ id: versionId, number, language, definition: stored as Definition });
  const [oldest] = cache.keys();
  if (cache.size >= maxVersions && oldest !== undefined) cache.delete(oldest);
  cache.set(versionId, version);
  return version;
}

/**
 * @param number the number of the version; 0 for a draft
 * @returns the definition, and its steps by id. If this code does not know the language number, there are no steps, and the runs fail
 */
export function readDefinition({
  language = languageOfToday,
  ...version
}: Pick<ReadVersion, 'id' | 'number' | 'definition'> & { language?: number }): ReadVersion {
  const steps = language === languageOfToday ? placedSteps(version.definition) : [];
  return { ...version, language, steps: new Map(steps.map((one) => [one.step.id, one])) };
}
