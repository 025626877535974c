/**
 * The operations outside a club's path that are open to a session of a club's identity provider (OIDC-7). Such a session acts only in that
 * club, because the club could open one for any of its members. Every other operation is closed to it.
 */
import type { OperationId } from '../operations.ts';

const operations: ReadonlySet<string> = new Set<OperationId>(['getProfile', 'endSession']);

export const isOpenToLimitedSessions = (operationId: string): boolean => operations.has(operationId);
