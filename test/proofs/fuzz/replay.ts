/** Carries a recorded sequence out again, in a new world, and says what its last step breaks. */
import { codeOf } from './rules.ts';
import { judged, kindOf } from './fuzzing.ts';
import { isRequest, type Step } from './requests/step.ts';
import type { FuzzGround } from './world/ground.ts';
import { buildWorld, type Exchange } from './world/world.ts';

/** A sequence that failed once, and what its last request is answered with since then. */
export interface FuzzCase {
  readonly name: string;
  /** Status and, of an error, code: `422 invalid_request`; two, in their order, of a request that is sent twice. */
  readonly answers: readonly string[];
  readonly steps: readonly Step[];
}

interface Replayed {
  /** Of the last step; none where that is no request. */
  readonly exchanges: readonly Exchange[];
  /** The kinds of failure of the last step. */
  readonly failures: readonly string[];
}

export async function replay(ground: FuzzGround, steps: readonly Step[]): Promise<Replayed> {
  const world = await buildWorld(ground);
  const last = steps.at(-1);
  for (const step of steps.slice(0, -1)) await world.carryOut(step).catch(() => undefined);
  if (last === undefined) throw new Error('A case has at least one step.');
  if (isRequest(last)) {
    const judgements = await judged(world, last, true);
    const failures = judgements.flatMap(({ exchange, broken }) =>
      broken.map((each) => `${kindOf(exchange, each)}: ${each.what}`),
    );
    return { exchanges: judgements.map(({ exchange }) => exchange), failures };
  }
  try {
    await world.carryOut(last);
    return { exchanges: [], failures: [] };
  } catch (error) {
    return { exchanges: [], failures: [`work: ${(error as Error).message}`] };
  }
}

/** `422 invalid_request`, `200`. */
export function outcomeOf({ answer, problem }: Exchange): string {
  return answer ? `${answer.status} ${codeOf(answer.body) ?? ''}`.trim() : (problem?.brief ?? '');
}
