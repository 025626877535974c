/** The student who acts: their id, in their club. */
import type { Id } from '../../platform/core/ids.ts';

/** Who looks, in which club. */
export interface Reader {
  clubId: Id;
  id: Id;
}
