/** Retention with a fast clock: what is kept for days is kept for minutes. */
import { contexts, type RetentionJob } from '../../domain/contexts.ts';

type Deps = Parameters<RetentionJob['run']>[0];

const dayMs = 86_400_000;
/** How old what has a time may become here. Longer than a delivery, a notice or an upload may take while things are killed. */
const keptForMs = 20 * 60_000;

/** For how many days each context keeps what its jobs remove first. */
const keptDays = { webhooks: 30, sales: 90, mail: 90, media: 1 } as const satisfies Partial<
  Record<keyof typeof contexts, number>
>;

/** Runs the jobs of these contexts until nothing is left to do. @returns how many rows they changed */
export async function retainFast(deps: Deps): Promise<number> {
  let changed = 0;
  for (const [name, days] of Object.entries(keptDays) as [keyof typeof keptDays, number][]) {
    const jobs: readonly RetentionJob[] = contexts[name].retention;
    for (const job of jobs) {
      for (let more = true; more;) {
        const done = await job.run(deps, new Date(Date.now() + days * dayMs - keptForMs));
        changed += Object.values(done.rows).reduce((sum, count) => sum + count, 0);
        more = done.more;
      }
    }
  }
  return changed;
}
