/** Defines a reference to the student who makes a request. */
import type { Id } from '../../platform/core/ids.ts';

export interface Reader {
  clubId: Id;
  id: Id;
}
