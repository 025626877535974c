/** A reference to the acting student. */
import type { Id } from '../../platform/core/ids.ts';

/** A student in a club. */
export interface Reader {
  clubId: Id;
  id: Id;
}
