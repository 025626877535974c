/** For tests of what scripts tell their users. */
import { Problem } from '../../../dev/problem.ts';

/** The message of the Problem that this must end in. */
export async function problemOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
  } catch (error) {
    if (error instanceof Problem) return error.message;
    throw error;
  }
  throw new Error('There was no problem.');
}
