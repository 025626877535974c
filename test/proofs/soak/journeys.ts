/** Sends students through an automation, one after another, and checks the effects. */
import { setTimeout as sleep } from 'node:timers/promises';
import { tagStudent } from '../../../domain/learning/engagement/tagging.ts';
import type { Database } from '../../../platform/infra/postgres/database.ts';
import type { Vault } from '../../../platform/infra/keys/vault.ts';
import { publishLongWay } from '../faults/automations/scene.ts';
import { noteFacts, tallyEffects } from '../faults/automations/tally.ts';
import { buildRecipients } from '../faults/mail/recipients.ts';
import { untilDone } from '../faults/patience.ts';
import { between } from '../faults/ranges.ts';
import type { FactTally } from './tally.ts';

const mailsPerMinute = 600;
/** Every second student gets the tag that ends a wait, this long after the beginning of the run. */
const keenAfterMs = { least: 15_000, most: 60_000 };

interface JourneyLoad {
  readonly entered: number;
  enter(): Promise<void>;
  openCount(): Promise<number>;
  tally(log: string): Promise<FactTally>;
}

export async function openJourneys(deps: { db: Database; vault: Vault }, most: number): Promise<JourneyLoad> {
  const { source } = deps.db;
  await noteFacts(source);
  const { clubId, studentIds } = await buildRecipients(source, most);
  const { automationId, tags } = await publishLongWay(deps, clubId, mailsPerMinute);
  let entered = 0;
  return {
    get entered() {
      return entered;
    },
    async enter() {
      const studentId = studentIds[entered];
      if (studentId === undefined) return;
      const isKeen = entered++ % 2 === 0;
      const addTag = (tagId: string) => untilDone(() => tagStudent(deps, { clubId, studentId, tagId }, new Date()));
      await addTag(tags.start);
      if (!isKeen) return;
      await sleep(between(keenAfterMs));
      await addTag(tags.keenTag);
    },
    async openCount() {
      const [row] = await source.query<{ ended: number }[]>(
        `SELECT count(*)::int AS ended FROM automation_runs WHERE automation_id = $1 AND status <> 'active'`,
        [automationId],
      );
      return entered - (row?.ended ?? 0);
    },
    async tally(log) {
      const { runs, finished, twice, missing } = await tallyEffects(source, { automationId, tags, log });
      const unfinished = entered - Math.min(runs, finished);
      return {
        facts: entered,
        lostFacts: [...missing, ...(unfinished === 0 ? [] : [`${unfinished} journeys have not ended`])],
        twice,
      };
    },
  };
}
