/** The kinds of subjects that an erasure removes. */
export const erasureKinds = ['club', 'student', 'administrator'] as const;
export type ErasureKind = (typeof erasureKinds)[number];

/**
 * The states of an erasure. A club waits in `planned` for 14 days, and passes through every state. A student or an administrator begins in
 * `objects`, because the transaction of the request has already erased the rows.
 */
export const erasureStatuses = ['planned', 'closing', 'rows', 'runs', 'objects', 'completed'] as const;
export type ErasureStatus = (typeof erasureStatuses)[number];
