/** Makes the dependencies of digest steps in tests, and the steps. */
import type { DigestDeps } from '../../../domain/community/digests/sending.ts';
import { stepDigest, type DigestStep } from '../../../domain/community/digests/step.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { testDeps } from '../stack/database.ts';

export async function digestDeps(smtp: DigestDeps['smtp']): Promise<DigestDeps> {
  return {
    ...(await testDeps()),
    smtp,
    fromAddress: 'news@platform.example',
    marks: { providers: [], returnAddress: undefined },
    warmUps: { clubs: [], domains: [] },
    publicUrl: 'https://api.example',
    classroomUrl: 'https://{slug}.classroom.example',
    onOutcome: () => undefined,
    failpoint: async () => undefined,
  };
}

export const digestIdOf = (clubId: Id, date: string): string => `${clubId}/${date}`;

/** @returns the last step */
export async function runDigest(deps: DigestDeps, digestId: string, now: Date): Promise<DigestStep> {
  for (let steps = 0; steps < 200; steps++) {
    const next = await stepDigest(deps, digestId, now.getTime());
    if (next.done || next.at !== undefined) return next;
  }
  throw new Error('The digest does not come to an end');
}
