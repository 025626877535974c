/** The activity of `source-index/<id>`. */
import { Context } from '@temporalio/activity';
import { indexSource, type IndexingDeps } from '../domain/knowledge/indexing/source-step.ts';
import { timeOfStep } from './clock.ts';

export type SourceIndexActivities = ReturnType<typeof sourceIndexActivities>;

export function sourceIndexActivities(deps: IndexingDeps) {
  return {
    /**
     * Takes the source one step further. It says all along that it lives, and how far it is; told to stop, it gives the source
     * back. @param now the workflow's time in Unix milliseconds
     */
    indexSource(sourceId: string, now: number) {
      const { heartbeat, cancellationSignal: stop } = Context.current();
      return indexSource(deps, sourceId, timeOfStep(now), { beat: heartbeat, stop });
    },
  };
}
