/** The spans of the relay. Each span continues the trace of the transaction that wrote the fact or wake. */
import { timeOfId } from '../../platform/core/ids.ts';
import { causeOf, spanOf } from '../../platform/core/traces.policy.ts';
import type { ClaimedFact } from '../../platform/engine/facts.ts';
import type { ClaimedWake } from '../../platform/engine/wakes.ts';
import type { SpanOptions } from '../../platform/infra/tracing.ts';

export function spanOfFact({ id, type, traceparent: origin }: ClaimedFact): SpanOptions {
  const cause = causeOf({ traceparent: origin, at: timeOfId(id) });
  return { kind: 'consumer', cause, attributes: { 'club.fact.id': id, 'club.fact.type': type } };
}

export function spanOfWake({ workflowType, workflowId, traceparent: written, recordedAt }: ClaimedWake): SpanOptions {
  const cause = causeOf({ traceparent: written, at: recordedAt.getTime() });
  return {
    kind: 'consumer',
    cause,
    attributes: { 'club.workflow.type': workflowType, 'club.workflow.id': workflowId },
  };
}

/**
 * Returns the span of a transaction that handles facts of several traces. The span belongs to the trace of one fact, if possible a sampled
 * trace, and links to the traces of the other facts.
 */
export function spanOfBatch(facts: readonly ClaimedFact[]): SpanOptions {
  const spans = facts.flatMap(({ traceparent: span }) => (span ? [span] : []));
  const cause = spans.find((span) => spanOf(span)?.isSampled) ?? spans[0];
  return {
    cause: causeOf({ traceparent: cause, at: Date.now() }),
    links: spans.filter((span) => span !== cause),
    attributes: { 'club.facts': facts.length },
  };
}
