/** Delivers facts to their consumers, and starts the workflow runs that the facts cause (ENG-4). */
import { gathered } from '../../platform/core/gathered.ts';
import type { Id } from '../../platform/core/ids.ts';
import { removeFacts, type ClaimedFact, type FactResult } from '../../platform/engine/facts.ts';
import type { Run } from '../../platform/engine/workflow-types.ts';
import { inSpan, traceparent } from '../../platform/infra/tracing.ts';
import { contextsInLockOrder, type CausedWorkflow, type ConsumerOptions } from '../../domain/contexts.ts';
import { returnClaim } from '../../domain/webhooks/attempts/claims.ts';
import { factBatches, firstAttempts } from '../reports/metrics.ts';
import type { RelayDeps } from './relay.ts';
import { spanOfBatch } from './spans.ts';

type FactDeps = Pick<RelayDeps, 'db' | 'workflows' | 'localAttempts' | 'lane' | 'waitSpeed' | 'failpoint'>;
type Result = FactResult<CausedWorkflow>;

/**
 * Delivers facts to their consumers, starts the workflow runs that the facts cause, and then deletes the facts. If the process crashes
 * before the deletion, a relay does all this again. Consumers get a batch of facts together. If a consumer throws, they get each fact
 * separately, so that one fact
 * cannot block the others.
 */
export function createFactCarrier(deps: FactDeps): (fact: ClaimedFact) => Promise<void> {
  const { db, workflows, localAttempts, failpoint } = deps;
  const consumeAlone = async (fact: ClaimedFact): Promise<Exclude<Result, { kind: 'blocked' }>> => {
    const [result] = await consumeAll(deps, [fact]);
    if (!result || result.kind === 'blocked')
      throw new Error(
        `The consumers of fact ${fact.id} (${fact.type}) answered ${result?.kind ?? 'nothing'} for it alone.`,
      );
    return result;
  };
  const start = async (run: Run, isLocal: boolean) => {
    const started = await workflows.start(run, [isLocal]);
    if (started !== 'before') firstAttempts.inc({ lane: 'workflow' });
    return started === 'here';
  };
  const consume = gathered(async (facts: readonly ClaimedFact[]) => {
    factBatches.observe(facts.length);
    // Each fact that is handled separately has its own promise. This fact may wait for the lock of its student, and other facts must not
    // wait for this fact.
    const together =
      facts.length > 1
        ? await inSpan('facts together', spanOfBatch(facts), () => consumeAll(deps, facts)).catch(() => [])
        : [];
    return facts.map((fact, index) => async () => {
      const result = together[index];
      return result && result.kind !== 'blocked' ? result : consumeAlone(fact);
    });
  });
  const remove = gathered(async (facts: readonly ClaimedFact[]) => {
    await removeFacts(db.source, facts);
    return facts;
  });
  return async (leased) => {
    const here = traceparent(); // so that the runs continue the span of the relay
    const fact = here === undefined ? leased : { ...leased, traceparent: here };
    const result = await (await consume(fact))();
    if (result.kind === 'removed') return;
    await failpoint('fanned_out');
    await Promise.all(
      result.runs.map(({ localAttemptAt: endpointId, claimed, ...run }) =>
        localAttempts.start(
          { id: run.subjectId, endpointId, claimed },
          {
            start: (isLocal) => start({ ...run, priority: fact.priority }, isLocal),
            returnClaim: (unused) => returnClaim(db, unused, new Date()),
          },
        ),
      ),
    );
    await remove(fact);
  };
}

async function consumeAll(
  { db, waitSpeed, lane, localAttempts }: FactDeps,
  facts: readonly ClaimedFact[],
): Promise<Result[]> {
  const now = new Date();
  const results = new Map<Id, Result>(facts.map(({ id }) => [id, { kind: 'consumed', runs: [] }]));
  const neededByOthers = new Set<Id>();
  const options: ConsumerOptions = {
    neededByOthers,
    ...(waitSpeed !== undefined && { waitSpeed }),
    ...(lane && { lane }),
    ...(localAttempts.localPermits && { localPermits: localAttempts.localPermits }),
  };
  for (const consume of contextsInLockOrder.flatMap(({ factConsumers }) => factConsumers)) {
    // If a consumer cannot handle a fact within the batch, the following consumers do not get this fact. Afterwards all consumers get the
    // fact separately.
    const open = facts.filter(({ id }) => results.get(id)?.kind !== 'blocked');
    const answers = await consume(db, open, now, options);
    for (const [index, { id }] of open.entries()) {
      const answer = answers[index];
      results.set(id, combine(results.get(id), answer));
      if (answer?.kind === 'consumed' && answer.runs.length > 0) neededByOthers.add(id);
    }
  }
  return facts.map(({ id }) => results.get(id) ?? { kind: 'blocked' });
}

function combine(before: Result = { kind: 'blocked' }, answer: Result = { kind: 'blocked' }): Result {
  if (before.kind === 'blocked' || answer.kind === 'blocked') return { kind: 'blocked' };
  if (before.kind === 'removed' || answer.kind === 'removed') return { kind: 'removed' };
  return { kind: 'consumed', runs: [...before.runs, ...answer.runs] };
}
