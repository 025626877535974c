/** Operations that stand in the contract and are not built yet: they answer 501 `not_implemented`. The list must end empty. */
import type { OperationId } from './operations.ts';

export const notImplemented: readonly OperationId[] = [];
