/** Sends a recorded sequence of requests to new clubs, and reports the rules that the last request breaks. */
import { codeOf } from './rules.ts';
import { judged, kindOf } from './fuzzing.ts';
import { isRequest, type Step } from './requests/step.ts';
import type { FuzzGround } from './world/ground.ts';
import { buildWorld, type Exchange } from './world/world.ts';

/** A sequence that failed once, and the expected answer to its last request. */
export interface FuzzCase {
  readonly name: string;
  /**
   * The status and error code of the last answer, such as `422 invalid_request`. If the last request is sent twice, the list has two
   * answers in alphabetical order.
   */
  readonly answers: readonly string[];
  readonly steps: readonly Step[];
}

interface Replayed {
  /** Empty if the last step is not a request. */
  readonly exchanges: readonly Exchange[];
  readonly failures: readonly string[];
}

export async function replay(ground: FuzzGround, steps: readonly Step[]): Promise<Replayed> {
  const world = await buildWorld(ground);
  const last = steps.at(-1);
  for (const step of steps.slice(0, -1)) await world.carryOut(step).catch(() => undefined);
  if (last === undefined) throw new Error('The case has no steps');
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

export function outcomeOf({ answer, problem }: Exchange): string {
  return answer ? `${answer.status} ${codeOf(answer.body) ?? ''}`.trim() : (problem?.brief ?? '');
}
