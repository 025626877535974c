/** Reads the messages that scripts show to their users, for tests. */
import { Problem } from '../../../dev/problem.ts';

/** The work must throw a Problem. */
export async function problemOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
  } catch (error) {
    if (error instanceof Problem) return error.message;
    throw error;
  }
  throw new Error('The work ended without a Problem');
}
