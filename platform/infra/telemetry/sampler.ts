/** Decides which spans are sampled, by the standard environment variables. A span below an ended span is never sampled. */
import { SpanKind, trace, TraceFlags, type Context } from '@opentelemetry/api';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  ParentBasedSampler,
  RandomIdGenerator,
  SamplingDecision,
  TraceIdRatioBasedSampler,
  type Sampler,
} from '@opentelemetry/sdk-trace';
import type { Read } from '../variables.ts';
import type { telemetryVariables } from './settings.ts';

type Settings = Pick<Read<typeof telemetryVariables>, 'sampler' | 'samplerShare'>;

/** These samplers are for traces that begin here. `traceidratio` decides about each span separately, so traces would be incomplete. */
const roots: Readonly<Record<Settings['sampler'], (share: number) => Sampler>> = {
  always_on: () => new AlwaysOnSampler(),
  always_off: () => new AlwaysOffSampler(),
  parentbased_always_on: () => new ParentBasedSampler({ root: new AlwaysOnSampler() }),
  parentbased_always_off: () => new ParentBasedSampler({ root: new AlwaysOffSampler() }),
  parentbased_traceidratio: (share) => new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(share) }),
};

export interface RequestSampler extends Sampler {
  /** Whether only a share of the traces is stored: then there are many, and the cost of each span matters. */
  readonly isShare: boolean;
  keepsRequest(parent: Context): boolean;
}

export function samplerOf({ sampler, samplerShare }: Settings): RequestSampler {
  const standard = roots[sampler](Number(samplerShare));
  const ids = new RandomIdGenerator();
  return {
    isShare: sampler === 'parentbased_traceidratio',
    keepsRequest: (parent) =>
      standard.shouldSample(parent, ids.generateTraceId(), 'request', SpanKind.SERVER, {}, []).decision ===
      SamplingDecision.RECORD_AND_SAMPLED,
    shouldSample(context, traceId, name, kind, attributes, links) {
      if (kind === SpanKind.SERVER) return { decision: SamplingDecision.RECORD_AND_SAMPLED }; // `keepsRequest` has decided
      if (isBelowEnded(context)) return { decision: SamplingDecision.NOT_RECORD };
      return standard.shouldSample(context, traceId, name, kind, attributes, links);
    },
    toString: () => standard.toString(),
  };
}

/** Loops, batched writers and connections keep the context that started them, and would add spans to a finished trace. */
function isBelowEnded(context: Context): boolean {
  const parent = trace.getSpan(context);
  if (!parent || parent.isRecording()) return false;
  const { isRemote, traceFlags } = parent.spanContext();
  return isRemote !== true && (traceFlags & TraceFlags.SAMPLED) !== 0;
}
