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
  const definition = stored as Definition;
  // What is written in another language is not read: its runs fail, and say so.
  const placed = language === languageOfToday ? placedSteps(definition) : [];
  const steps = new Map(placed.map((one) => [one.step.id, one]));
  const version = { id: versionId, number, language, definition, steps };
  const [oldest] = cache.keys();
  if (cache.size >= kept && oldest !== undefined) cache.delete(oldest);
  cache.set(versionId, version);
  return version;
}
