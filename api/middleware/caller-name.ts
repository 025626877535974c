/** The name of a caller in rows that belong to it. */
import { administratorCaller, keyCaller, studentCaller } from '../../domain/idempotency/repetitions.ts';
import type { Caller } from '../operation.ts';

/** @returns a text such as `administrator:…` */
export function nameOfCaller(caller: Caller): string {
  if (caller.kind === 'student') return studentCaller(caller.student.id);
  return caller.kind === 'key' ? keyCaller(caller.keyId) : administratorCaller(caller.administratorId);
}
