/** Which spans are kept: by the standard's variables, and none below a span that has ended. */
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

/** Of traces that begin here. `traceidratio` is none: it decides about each span anew, which tears traces apart. */
const roots: Readonly<Record<Settings['sampler'], (share: number) => Sampler>> = {
  always_on: () => new AlwaysOnSampler(),
  always_off: () => new AlwaysOffSampler(),
  parentbased_always_on: () => new ParentBasedSampler({ root: new AlwaysOnSampler() }),
  parentbased_always_off: () => new ParentBasedSampler({ root: new AlwaysOffSampler() }),
  parentbased_traceidratio: (share) => new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(share) }),
};

export interface RequestSampler extends Sampler {
  /** Whether it keeps a share of the traces that begin here: then there are many, and each span counts. */
  readonly isShare: boolean;
  /** @param parent what the request goes on from @returns whether it is to have a span: of one that is not kept nothing is computed */
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

/**
 * Loops, shared writers and connections keep the context of the request that started them. Without this check their later spans would
 * join a finished trace.
 */
function isBelowEnded(context: Context): boolean {
  const parent = trace.getSpan(context);
  if (!parent || parent.isRecording()) return false;
  const { isRemote, traceFlags } = parent.spanContext();
  return isRemote !== true && (traceFlags & TraceFlags.SAMPLED) !== 0;
}
